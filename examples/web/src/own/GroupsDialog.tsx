import { useApolloClient, useQuery } from "@apollo/client/react";
import { activeQueries } from "../apollo/activeQueries";
import type { PersonFragment } from "../gql/graphql";
import { Dialog } from "../ui/Dialog";
import { OwnDetails } from "./documents";
import { useOwn } from "./useOwn";

interface GroupsDialogProps {
  user: PersonFragment;
  onClose: () => void;
}

/** The viewer's groups as checkboxes: those that the user is in are checked. */
export function GroupsDialog({ user, onClose }: GroupsDialogProps) {
  const { data } = useQuery(OwnDetails, { variables: { userId: user.id } });
  const client = useApolloClient();
  const { addToGroup, removeFromGroup } = useOwn();
  const groups = data?.viewer?.followGroups ?? [];
  const groupIds = data?.user?.viewerRelation?.groupIds ?? [];
  // Only now: removing somebody from the group also removes their row and this dialog.
  const close = () => {
    void client.refetchQueries({ include: activeQueries(client, ["Following"]) });
    onClose();
  };
  return (
    <Dialog
      title={`Your groups with ${user.displayName}`}
      hint={groups.length > 0 ? "Only you see them." : "You have no groups yet. Make one above the list of those whom you follow."}
      onClose={close}
    >
      {groups.map((group) => {
        const isMember = groupIds.includes(group.id);
        return (
          <label key={group.id} className="dialog-choice">
            <input
              type="checkbox"
              checked={isMember}
              onChange={() => void (isMember ? removeFromGroup(group, user) : addToGroup(group, user))}
            />
            {group.name} <span className="quiet">{group.memberCount}</span>
          </label>
        );
      })}
      <div className="dialog-actions">
        <button type="button" className="button button-primary" onClick={close}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
