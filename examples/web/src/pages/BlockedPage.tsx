import { useQuery } from "@apollo/client/react";
import { Ban } from "lucide-react";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";
import { PeopleList } from "../lists/PeopleList";
import { Failure } from "../ui/Failure";
import { formatWhen } from "../ui/format";
import { Notice } from "../ui/Notice";
import { RowSkeletons } from "../ui/RowSkeleton";

const Blocked = graphql(`
  query Blocked($first: Int!, $after: String) {
    viewer {
      id
      blockedUsers(first: $first, after: $after) {
        ...PeoplePage
        edges {
          blockedAt
        }
      }
    }
  }
`);

export function BlockedPage() {
  const { data, error, fetchMore, refetch } = useQuery(Blocked, { variables: { first: PAGE_SIZE } });
  const list = data?.viewer?.blockedUsers;
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!list) return <RowSkeletons />;
  return (
    <PeopleList
      label="Blocked people"
      page={list}
      onMore={(after) => fetchMore({ variables: { after } })}
      detail={({ blockedAt, node }) => `@${node.handle} · blocked ${formatWhen(blockedAt)}`}
      empty={<Notice icon={<Ban />} title="You have blocked nobody." />}
    />
  );
}
