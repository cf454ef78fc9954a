import { useQuery } from "@apollo/client/react";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";
import { ListNotice } from "../lists/ListNotice";
import { PeopleList } from "../lists/PeopleList";
import { useProfileUser } from "../people/useProfileUser";
import { Failure } from "../ui/Failure";
import { formatWhen } from "../ui/format";
import { RowSkeletons } from "../ui/RowSkeleton";

const Following = graphql(`
  query Following($id: ID!, $first: Int!, $after: String) {
    user(id: $id) {
      id
      following(first: $first, after: $after) {
        ...PeoplePage
        edges {
          followedAt
        }
      }
    }
  }
`);

export function FollowingPage() {
  const { id } = useProfileUser();
  const { data, error, fetchMore, refetch } = useQuery(Following, { variables: { id, first: PAGE_SIZE } });
  const list = data?.user?.following;
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!list) return <RowSkeletons />;
  return (
    <>
      <title>Following · Kindred</title>
      <PeopleList
        label="Following"
        page={list}
        onMore={(after) => fetchMore({ variables: { after } })}
        detail={({ followedAt, node }) => `@${node.handle} · since ${formatWhen(followedAt)}`}
        empty={<ListNotice access={list.access} empty="Follows nobody yet." />}
      />
    </>
  );
}
