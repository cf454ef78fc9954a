import { useQuery } from "@apollo/client/react";
import { useState } from "react";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";
import { ListNotice } from "../lists/ListNotice";
import { PeopleList } from "../lists/PeopleList";
import { OwnFollowingHead } from "../own/OwnFollowingHead";
import { useProfileUser } from "../people/useProfileUser";
import { useSession } from "../session/SessionContext";
import { Failure } from "../ui/Failure";
import { formatWhen } from "../ui/format";
import { RowSkeletons } from "../ui/RowSkeleton";

const Following = graphql(`
  query Following($id: ID!, $filter: FollowingFilter, $first: Int!, $after: String) {
    user(id: $id) {
      id
      following(filter: $filter, first: $first, after: $after) {
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
  const { userId } = useSession();
  const [groupId, setGroupId] = useState<string | null>(null);
  const filter = groupId === null ? null : { groupId };
  const { data, error, fetchMore, refetch } = useQuery(Following, { variables: { id, filter, first: PAGE_SIZE } });
  const list = data?.user?.following;
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <title>Following · Kindred</title>
      {id === userId && <OwnFollowingHead groupId={groupId} onChoose={setGroupId} />}
      {list ? (
        <PeopleList
          label="Following"
          page={list}
          onMore={(after) => fetchMore({ variables: { after } })}
          detail={({ followedAt, node }) => `@${node.handle} · since ${formatWhen(followedAt)}`}
          empty={<ListNotice access={list.access} empty={groupId ? "Nobody is in this group." : "Follows nobody yet."} />}
        />
      ) : (
        <RowSkeletons />
      )}
    </>
  );
}
