import { useQuery } from "@apollo/client/react";
import { useState } from "react";
import { graphql } from "../gql";
import type { FollowerFilter } from "../gql/graphql";
import { PAGE_SIZE } from "../lists/pageSize";
import { FollowerFilters } from "../lists/FollowerFilters";
import { ListNotice } from "../lists/ListNotice";
import { NewFollowers } from "../lists/NewFollowers";
import { PeopleList } from "../lists/PeopleList";
import { useNewcomers } from "../lists/useNewcomers";
import { useProfileUser } from "../people/useProfileUser";
import { Failure } from "../ui/Failure";
import { formatWhen } from "../ui/format";
import { RowSkeletons } from "../ui/RowSkeleton";

const Followers = graphql(`
  query Followers($id: ID!, $filter: FollowerFilter, $first: Int, $after: String, $last: Int, $before: String) {
    user(id: $id) {
      id
      followers(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
        ...PeoplePage
        edges {
          followedAt
          isNew
        }
      }
    }
  }
`);

export function FollowersPage() {
  const { id, followerCount, newFollowersCount } = useProfileUser();
  const [filter, setFilter] = useState<FollowerFilter | null>(null);
  const { data, error, fetchMore, refetch } = useQuery(Followers, { variables: { id, filter, first: PAGE_SIZE } });
  const list = data?.user?.followers;

  useNewcomers(followerCount, list?.pageInfo.startCursor, (before) =>
    before ? fetchMore({ variables: { first: null, last: PAGE_SIZE, before } }) : refetch(),
  );

  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <title>Followers · Kindred</title>
      <NewFollowers count={newFollowersCount ?? 0} newestCursor={filter ? undefined : list?.edges[0]?.cursor} />
      <FollowerFilters onChange={setFilter} />
      {list ? (
        <PeopleList
          label="Followers"
          page={list}
          onMore={(after) => fetchMore({ variables: { after } })}
          detail={({ followedAt, node }) => `@${node.handle} · since ${formatWhen(followedAt)}`}
          badge={({ isNew }) => isNew && newFollowersCount !== 0 && <span className="badge badge-new">New</span>}
          empty={<ListNotice access={list.access} empty={filter ? "Nobody passes this filter." : "No followers yet."} />}
        />
      ) : (
        <RowSkeletons />
      )}
    </>
  );
}
