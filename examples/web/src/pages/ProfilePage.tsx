import { useQuery } from "@apollo/client/react";
import { UserX } from "lucide-react";
import { Outlet, useParams } from "react-router";
import { graphql } from "../gql";
import type { CountsFragment, PersonFragment } from "../gql/graphql";
import { useLiveCounts } from "../live/useLiveCounts";
import { useLiveRelations } from "../live/useLiveRelations";
import { ProfileHeader } from "../people/ProfileHeader";
import { ProfileTabs } from "../people/ProfileTabs";
import { useSession } from "../session/SessionContext";
import { Failure } from "../ui/Failure";
import { Notice } from "../ui/Notice";
import { RowSkeletons } from "../ui/RowSkeleton";

const Profile = graphql(`
  query Profile($id: ID!) {
    user(id: $id) {
      ...Person
      ...Counts
      newFollowersCount
      viewerRelation {
        id
        note
      }
      bio
      followersYouKnow(first: 3) {
        totalCount
        edges {
          cursor
          node {
            ...Profile
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);

/**
 * Whether the account is deactivated or deleted, or blocks the viewer. Kith does not say which: the
 * three look the same to the viewer, as an account whose lists are all hidden and that cannot be followed.
 */
const isUnavailable = ({ viewerFollowEligibility, followerCount, followingCount }: PersonFragment & CountsFragment) =>
  viewerFollowEligibility.code === "NOT_ALLOWED" && followerCount === null && followingCount === null;

export function ProfilePage() {
  const { id = "" } = useParams();
  const { userId } = useSession();
  const { data, error, loading, refetch } = useQuery(Profile, { variables: { id } });
  useLiveCounts(id);
  useLiveRelations(id === userId ? [] : [id]);

  if (error && !data?.user) {
    return /^[1-9]\d*$/.test(id) ? (
      <Failure error={error} onRetry={() => void refetch()} />
    ) : (
      <Notice icon={<UserX />} title="There is nobody at this address." />
    );
  }
  if (!data?.user) return loading ? <RowSkeletons count={3} /> : null;
  const { user } = data;
  if (isUnavailable(user)) {
    return (
      <div className="profile">
        <title>Not available · Kindred</title>
        <ProfileHeader user={user} known={null} />
        <Notice icon={<UserX />} title="This account is not available." />
      </div>
    );
  }
  return (
    <div className="profile">
      <title>{`${user.displayName} · Kindred`}</title>
      <ProfileHeader user={user} known={id === userId ? null : user.followersYouKnow} />
      <ProfileTabs user={user} newFollowers={user.newFollowersCount ?? 0} />
      <Outlet context={user} key={id} />
    </div>
  );
}
