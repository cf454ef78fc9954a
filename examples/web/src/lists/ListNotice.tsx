import { Lock, Users } from "lucide-react";
import type { ListAccess } from "../gql/graphql";
import { Notice } from "../ui/Notice";

const REASONS: Partial<Record<ListAccess, string>> = {
  HIDDEN_BY_OWNER: "This list is private.",
  PROTECTED: "Only approved followers can see this list.",
  HIDDEN_BY_BLOCK: "You have blocked this person. Unblock them to see this list.",
};

/** Why a list has no rows: the viewer may not open it, or it is empty. */
export function ListNotice({ access, empty }: { access: ListAccess; empty: string }) {
  const reason = REASONS[access];
  return reason ? <Notice icon={<Lock />} title={reason} /> : <Notice icon={<Users />} title={empty} />;
}
