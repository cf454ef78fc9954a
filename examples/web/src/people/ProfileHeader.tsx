import { NotebookPen } from "lucide-react";
import type { ProfileUser } from "./useProfileUser";
import { FollowButton } from "../relationship/FollowButton";
import { MoreMenu } from "../relationship/MoreMenu";
import { Avatar } from "../ui/Avatar";
import { Badges } from "./Badges";
import { KnownFollowers } from "./KnownFollowers";
import "./profile.css";

interface ProfileHeaderProps {
  user: ProfileUser;
  known: ProfileUser["followersYouKnow"];
}

export function ProfileHeader({ user, known }: ProfileHeaderProps) {
  return (
    <header className="profile-header">
      <div className="cover" style={{ backgroundImage: `url(${user.avatarUrl})` }} />
      <div className="profile-top">
        <Avatar src={user.avatarUrl} size="large" />
        <div className="profile-actions">
          <FollowButton user={user} />
          <MoreMenu user={user} />
        </div>
      </div>
      <h1>
        {user.displayName} <Badges user={user} />
      </h1>
      <p className="profile-handle">@{user.handle}</p>
      <p>{user.bio}</p>
      {user.viewerRelation?.note && (
        <p className="own-note">
          <NotebookPen size={16} aria-hidden="true" />
          <span className="visually-hidden">Your note: </span>
          {user.viewerRelation.note}
        </p>
      )}
      {known && known.totalCount > 0 && <KnownFollowers known={known} />}
    </header>
  );
}
