import { useApolloClient } from "@apollo/client/react";
import { rememberToken } from "../apollo/freshness";
import { DELAYED, failureInWords, problemInWords } from "../errors/words";
import type { ProfileFragment } from "../gql/graphql";
import { useToast, type Toast } from "../toasts/ToastContext";
import { Undo } from "./mutations";

/** Make the "Undo" button of a toast from a change's `undoToken`; no button without a token. */
export function useUndo() {
  const client = useApolloClient();
  const toast = useToast();

  const run = async (undoToken: string, user: ProfileFragment) => {
    try {
      const { data } = await client.mutate({
        mutation: Undo,
        variables: { input: { undoToken, idempotencyKey: crypto.randomUUID() } },
      });
      rememberToken(data?.change?.consistencyToken);
      const [problem] = data?.change?.userErrors ?? [];
      if (problem) return toast({ tone: "error", text: problemInWords(problem) });
      const delayed = data?.change?.consistency === "DELAYED" ? ` ${DELAYED}` : "";
      toast({ text: `Undone: you and ${user.displayName} are as before.${delayed}` });
      // A row that the change removed from a list returns when the list is read again.
      await client.refetchQueries({ include: "active" });
    } catch (error) {
      toast({ tone: "error", text: failureInWords(error) });
    }
  };

  return (undoToken: string | null | undefined, user: ProfileFragment): Pick<Toast, "action"> =>
    undoToken ? { action: { label: "Undo", run: () => void run(undoToken, user) } } : {};
}
