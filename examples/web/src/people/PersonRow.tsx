import type { ReactNode } from "react";
import { Link } from "react-router";
import type { PersonFragment } from "../gql/graphql";
import { FollowButton } from "../relationship/FollowButton";
import { MoreMenu } from "../relationship/MoreMenu";
import { Avatar } from "../ui/Avatar";
import { Badges } from "./Badges";

interface PersonRowProps {
  person: PersonFragment;
  /** A line below the name; the handle if there is none. */
  detail?: ReactNode;
  /** Beside the name, before the badges of the relationship. */
  badge?: ReactNode;
  /** Buttons in place of the follow button and the menu. */
  actions?: ReactNode;
}

export function PersonRow({ person, detail, badge, actions }: PersonRowProps) {
  return (
    <article className="person" aria-label={person.displayName}>
      <Avatar src={person.avatarUrl} />
      <div className="person-text">
        <div className="person-name">
          <Link to={`/u/${person.id}`}>{person.displayName}</Link>
          {badge}
          <Badges user={person} />
        </div>
        <div className="person-detail">{detail ?? `@${person.handle}`}</div>
      </div>
      <div className="person-actions">
        {actions ?? (
          <>
            <FollowButton user={person} />
            <MoreMenu user={person} />
          </>
        )}
      </div>
    </article>
  );
}
