import { useQuery } from "@apollo/client/react";
import { Sparkles } from "lucide-react";
import { graphql } from "../gql";
import { FaceGrid } from "../people/FaceGrid";
import { useProfileUser } from "../people/useProfileUser";
import { useSession } from "../session/SessionContext";
import { Failure } from "../ui/Failure";
import { Notice } from "../ui/Notice";
import { RowSkeletons } from "../ui/RowSkeleton";

const Overview = graphql(`
  query Overview($id: ID!, $viewerId: ID!, $other: Boolean!) {
    user(id: $id) {
      id
      overviewKnown: followersYouKnow(first: 12) @include(if: $other) {
        totalCount
        nodes {
          ...Profile
        }
      }
      overviewCommon: commonFollowing(with: $viewerId, first: 12) @include(if: $other) {
        totalCount
        nodes {
          ...Profile
        }
      }
      overviewFriends: friends(first: 12) {
        totalCount
        nodes {
          ...Profile
        }
      }
    }
  }
`);

/** The people around a user: those whom the viewer knows first. */
export function OverviewPage() {
  const user = useProfileUser();
  const { userId } = useSession();
  const variables = { id: user.id, viewerId: userId, other: user.id !== userId };
  const { data, error } = useQuery(Overview, { variables });
  if (error && !data) return <Failure error={error} />;
  if (!data?.user) return <RowSkeletons count={2} />;
  const { overviewKnown, overviewCommon, overviewFriends } = data.user;
  const lists = [
    { title: "Followers you know", list: overviewKnown },
    { title: "You both follow", list: overviewCommon },
    { title: "Friends", list: overviewFriends, to: `/u/${user.id}/friends` },
  ].filter(({ list }) => list && list.nodes.length > 0);
  if (lists.length === 0) {
    return <Notice icon={<Sparkles />} title="Nothing in common yet" />;
  }
  return (
    <div className="overview">
      {lists.map(({ title, list, to }) => list && <FaceGrid key={title} title={title} list={list} to={to} />)}
    </div>
  );
}
