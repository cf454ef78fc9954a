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
  /** The expected response, shown until the real one arrives. */
  guess?: Answer;
  /** The names of queries to run again, because the change affects their lists. */
  outdated?: string[];
  /** The text of the toast afterwards; omitted if the screen already shows the result. */
  done?: string;
}

/** Change the viewer's settings, groups, pins and notes. A toast explains a rejection. */
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
