import { useQuery } from "@apollo/client/react";
import { useState } from "react";
import { graphql } from "../gql";
import type { FriendOrderField } from "../gql/graphql";
import { PAGE_SIZE } from "../lists/pageSize";
import { ListNotice } from "../lists/ListNotice";
import { PeopleList } from "../lists/PeopleList";
import { useProfileUser } from "../people/useProfileUser";
import { useSession } from "../session/SessionContext";
import { Failure } from "../ui/Failure";
import { formatWhen } from "../ui/format";
import { RowSkeletons } from "../ui/RowSkeleton";

const Friends = graphql(`
  query Friends($id: ID!, $order: FriendOrderField!, $first: Int!, $after: String) {
    user(id: $id) {
      id
      friends(first: $first, after: $after, orderBy: { field: $order }) {
        ...PeoplePage
        edges {
          friendsSince
        }
      }
    }
  }
`);

export function FriendsPage() {
  const { id } = useProfileUser();
  const { userId } = useSession();
  const [order, setOrder] = useState<FriendOrderField>("DATE");
  const { data, error, fetchMore, refetch } = useQuery(Friends, { variables: { id, order, first: PAGE_SIZE } });
  const list = data?.user?.friends;
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <title>Friends · Kindred</title>
      {id === userId && <FriendOrder value={order} onChange={setOrder} />}
      {list ? (
        <PeopleList
          label="Friends"
          page={list}
          onMore={(after) => fetchMore({ variables: { after } })}
          detail={({ friendsSince, node }) => `@${node.handle} · friends since ${formatWhen(friendsSince)}`}
          empty={<ListNotice access={list.access} empty="No friends yet: friends are people who follow each other." />}
        />
      ) : (
        <RowSkeletons />
      )}
    </>
  );
}

interface FriendOrderProps {
  value: FriendOrderField;
  onChange: (order: FriendOrderField) => void;
}

/** The closest friends first: Kith knows that of the viewer's own friends. */
function FriendOrder({ value, onChange }: FriendOrderProps) {
  const choices: [FriendOrderField, string][] = [
    ["DATE", "Newest"],
    ["AFFINITY", "Closest"],
  ];
  return (
    <div className="chips" role="group" aria-label="Order">
      {choices.map(([order, label]) => (
        <button key={order} type="button" className="chip" aria-pressed={value === order} onClick={() => onChange(order)}>
          {label}
        </button>
      ))}
    </div>
  );
}
