import type { PersonFragment } from "../gql/graphql";
import type { ChangeName } from "./changes";
import { useChange } from "./useChange";

interface Face {
  label: string;
  change: ChangeName;
  /** The label while the button is hovered or focused. */
  hover?: string;
  quiet?: boolean;
}

/** The label and the change of the button, from the relationship; null for the viewer's own row. */
function faceOf({ viewerRelation: relation, viewerFollowEligibility: { code } }: PersonFragment): Face | null {
  if (!relation || relation.state === "SELF") return null;
  // There is nothing to undo, and a follow would be rejected.
  if (code === "NOT_ALLOWED" && !relation.blocking) return null;
  if (relation.blocking) return { label: "Blocked", hover: "Unblock", change: "unblock", quiet: true };
  if (relation.requested) return { label: "Requested", hover: "Cancel request", change: "cancelRequest", quiet: true };
  if (relation.following) {
    const label = relation.state === "FRIENDS" ? "Friends" : "Following";
    return { label, hover: "Unfollow", change: "unfollow", quiet: true };
  }
  if (code === "APPROVAL_NEEDED") return { label: "Ask to follow", change: "follow" };
  return { label: relation.followedBy ? "Follow back" : "Follow", change: "follow" };
}

/**
 * An optimistic follow button. It shows what the cache holds, so a click, another window and a
 * subscription all change it in the same way.
 */
export function FollowButton({ user }: { user: PersonFragment }) {
  const change = useChange();
  const face = faceOf(user);
  if (!face) return null;
  const { label, hover, quiet } = face;
  const name = `${label} ${user.displayName}`;
  return (
    <button
      type="button"
      className={`button follow ${quiet ? "button-quiet" : "button-primary"}`}
      aria-label={hover ? `${name}: ${hover.toLowerCase()}` : name}
      data-state={label}
      onClick={() => void change(face.change, user)}
    >
      <span className="follow-label">{label}</span>
      {hover && <span className="follow-hover">{hover}</span>}
    </button>
  );
}
