import type { ProfileUser } from "./useProfileUser";
import { Avatar } from "../ui/Avatar";

/** "Followed by Ada, Bela and 3 others you follow". */
export function KnownFollowers({ known }: { known: NonNullable<ProfileUser["followersYouKnow"]> }) {
  const people = known.edges.slice(0, 2).map(({ node }) => node);
  const others = known.totalCount - people.length;
  const names = people.map(({ displayName }) => displayName);
  if (others > 0) names.push(`${others} ${others === 1 ? "other" : "others"} you follow`);
  return (
    <p className="known">
      <span className="known-faces">
        {known.edges.slice(0, 3).map(({ node }) => (
          <Avatar key={node.id} src={node.avatarUrl} size="small" />
        ))}
      </span>
      Followed by {new Intl.ListFormat("en").format(names)}
    </p>
  );
}
