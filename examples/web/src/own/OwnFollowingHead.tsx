import { useQuery } from "@apollo/client/react";
import { Plus } from "lucide-react";
import { useState } from "react";
import type { GroupFragment } from "../gql/graphql";
import { FaceGrid } from "../people/FaceGrid";
import { TextDialog } from "../ui/TextDialog";
import { OwnFollowing } from "./documents";
import { useOwn } from "./useOwn";

/** The longest name of a group that Kith accepts, in characters. */
const NAME_MAX = 50;

interface OwnFollowingHeadProps {
  /** The group whose members the list shows; null: all follows. */
  groupId: string | null;
  onChoose: (groupId: string | null) => void;
}

/** Above the viewer's own list of follows: those who are pinned, and the groups as filters. */
export function OwnFollowingHead({ groupId, onChoose }: OwnFollowingHeadProps) {
  const { data } = useQuery(OwnFollowing);
  const { createGroup, deleteGroup } = useOwn();
  const [isCreating, setCreating] = useState(false);
  if (!data?.viewer) return null;
  const { followGroups: groups, pinnedFollowing } = data.viewer;
  // A pin ends with its follow, which the row below may just have ended.
  const pinned = pinnedFollowing.filter(({ viewerRelation }) => viewerRelation?.following);
  const chosen = groups.find(({ id }) => id === groupId);

  const deleteChosen = (group: GroupFragment) => {
    // The members of a deleted group cannot be queried.
    onChoose(null);
    void deleteGroup(group);
  };

  return (
    <>
      {pinned.length > 0 && (
        <div className="overview">
          <FaceGrid title="Pinned" list={{ totalCount: pinned.length, nodes: pinned }} />
        </div>
      )}
      <div className="chips" role="group" aria-label="Groups">
        <button type="button" className="chip" aria-pressed={groupId === null} onClick={() => onChoose(null)}>
          Everybody
        </button>
        {groups.map(({ id, name, memberCount }) => (
          <button key={id} type="button" className="chip" aria-pressed={groupId === id} onClick={() => onChoose(id)}>
            {name} {memberCount}
          </button>
        ))}
        <button type="button" className="chip" onClick={() => setCreating(true)}>
          <Plus size={14} aria-hidden="true" /> New group
        </button>
      </div>
      {chosen && (
        <p className="list-bar">
          <span className="hint">Only you see your groups. Add people to them by the menu of their row.</span>
          <button type="button" className="button" onClick={() => deleteChosen(chosen)}>
            Delete group
          </button>
        </p>
      )}
      {isCreating && (
        <TextDialog
          title="New group"
          hint="A name for some of the people whom you follow. Only you see it."
          value=""
          maxLength={NAME_MAX}
          required
          onSave={(name) => void createGroup(name)}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  );
}
