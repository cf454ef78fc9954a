import type { TypedDocumentNode } from "@apollo/client";
import { useApolloClient } from "@apollo/client/react";
import { activeQueries } from "../apollo/activeQueries";
import { rememberToken } from "../apollo/freshness";
import { DELAYED, failureInWords, problemInWords } from "../errors/words";
import type { ProblemFragment, WriteConsistency } from "../gql/graphql";
import { useToast } from "../toasts/ToastContext";

interface Saved {
  userErrors: ProblemFragment[];
  consistency?: WriteConsistency | null;
  consistencyToken?: string | null;
}

interface Options<Answer> {
  /** The answer that is expected: it is shown until the real one comes. */
  guess?: Answer;
  /** The names of the queries whose lists the change makes out of date. */
  outdated?: string[];
  /** What a toast says when it is done; nothing where the screen says enough. */
  done?: string;
}

/** Change what belongs to the viewer alone: settings, groups, pins, notes. A rejection is explained by a toast. */
export function useSave() {
  const client = useApolloClient();
  const toast = useToast();

  return async <Answer extends Saved, Input>(
    mutation: TypedDocumentNode<{ change: Answer | null }, { input: Input }>,
    input: Input,
    { guess, outdated = [], done }: Options<Answer> = {},
  ): Promise<boolean> => {
    try {
      const { data } = await client.mutate<{ change: Answer | null }, { input: Input }>({
        mutation,
        variables: { input: { ...input, idempotencyKey: crypto.randomUUID() } },
        ...(guess && { optimisticResponse: { change: guess } }),
        refetchQueries: () => activeQueries(client, outdated),
      });
      rememberToken(data?.change?.consistencyToken);
      const [problem] = data?.change?.userErrors ?? [];
      if (problem) {
        toast({ tone: "error", text: problemInWords(problem) });
        return false;
      }
      const text = data?.change?.consistency === "DELAYED" ? DELAYED : done;
      if (text) toast({ text });
      return true;
    } catch (error) {
      toast({ tone: "error", text: failureInWords(error) });
      return false;
    }
  };
}
