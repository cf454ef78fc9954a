import type { ApolloCache } from "@apollo/client";
import { useApolloClient } from "@apollo/client/react";
import { rememberToken } from "../apollo/freshness";
import { DELAYED, failureInWords, problemInWords } from "../errors/words";
import type { PersonFragment } from "../gql/graphql";
import { useSession } from "../session/SessionContext";
import { useToast } from "../toasts/ToastContext";
import { changeOf, type ChangeInput, type ChangeName } from "./changes";
import { optimisticChange } from "./optimisticChange";
import { useUndo } from "./useUndo";

interface Options {
  input?: Omit<ChangeInput, "userId" | "idempotencyKey"> | undefined;
  /** Change a list in the cache, first with the expected and then with the real response. */
  update?: (cache: ApolloCache) => void;
}

/**
 * Change the relationship with somebody. The screen changes at once. A rejection reverts it
 * and shows the reason. If the change can be undone, a toast has a button for it.
 */
export function useChange() {
  const client = useApolloClient();
  const { userId: viewerId } = useSession();
  const toast = useToast();
  const undo = useUndo();

  return async (name: ChangeName, user: PersonFragment, { input = {}, update }: Options = {}) => {
    const { mutation, payload, guess, done } = changeOf(name);
    try {
      const { data } = await client.mutate({
        mutation,
        variables: { input: { ...input, userId: user.id, idempotencyKey: crypto.randomUUID() } },
        optimisticResponse: {
          change: optimisticChange(client.cache, { viewerId, user, payload, guess, input }),
        },
        update: (cache, { data: answer }) => {
          if (answer?.change?.userErrors.length === 0) update?.(cache);
        },
      });
      const change = data?.change;
      rememberToken(change?.consistencyToken);
      const [problem] = change?.userErrors ?? [];
      if (problem) return toast({ tone: "error", text: problemInWords(problem) });
      // A block opens or closes whole lists of the user, which the payload does not contain.
      if (name === "block" || name === "unblock") void client.refetchQueries({ include: "active" });
      const text = [done?.(user.displayName), change?.consistency === "DELAYED" ? DELAYED : ""].filter(Boolean).join(" ");
      if (text) toast({ text, ...undo(change?.undoToken, user) });
    } catch (error) {
      toast({ tone: "error", text: failureInWords(error) });
    }
  };
}
