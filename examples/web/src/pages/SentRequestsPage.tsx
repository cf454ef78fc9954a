import { useQuery } from "@apollo/client/react";
import { Send } from "lucide-react";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";
import { PeopleList } from "../lists/PeopleList";
import { Failure } from "../ui/Failure";
import { formatWhen } from "../ui/format";
import { Notice } from "../ui/Notice";
import { RowSkeletons } from "../ui/RowSkeleton";

const SentRequests = graphql(`
  query SentRequests($first: Int!, $after: String) {
    viewer {
      id
      outgoingFollowRequests(first: $first, after: $after) {
        totalCount
        edges {
          cursor
          node {
            id
            requestedAt
            to {
              ...Person
            }
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

export function SentRequestsPage() {
  const { data, error, fetchMore, refetch } = useQuery(SentRequests, { variables: { first: PAGE_SIZE } });
  const list = data?.viewer?.outgoingFollowRequests;
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!list) return <RowSkeletons />;
  const edges = list.edges.map(({ node: { to, requestedAt } }) => ({ node: to, requestedAt }));
  return (
    <PeopleList
      label="Sent requests"
      page={{ ...list, edges }}
      onMore={(after) => fetchMore({ variables: { after } })}
      detail={({ requestedAt, node }) => `@${node.handle} · asked ${formatWhen(requestedAt)}`}
      empty={<Notice icon={<Send />} title="You have asked nobody." />}
    />
  );
}
