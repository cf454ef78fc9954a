import type { RelationshipFragment } from "../gql/graphql";

/** Badges for the states of a relationship that the follow button does not show. */
export function Badges({ user: { viewerRelation: relation } }: { user: RelationshipFragment }) {
  if (!relation) return null;
  return (
    <>
      {relation.state === "SELF" && <span className="badge">You</span>}
      {relation.followedBy && <span className="badge">Follows you</span>}
      {relation.closeFollow && <span className="badge">Close</span>}
      {relation.whispering && <span className="badge">Quietly</span>}
      {relation.notify === "ALL" && <span className="badge">Notifications</span>}
      {relation.muted && <span className="badge">Muted</span>}
    </>
  );
}
