import { useQuery } from "@apollo/client/react";
import { Inbox } from "lucide-react";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";
import { RequestRow } from "../people/RequestRow";
import { ListEnd } from "../lists/ListEnd";
import { useInfiniteScroll } from "../lists/useInfiniteScroll";
import { Failure } from "../ui/Failure";
import { Notice } from "../ui/Notice";
import { RowSkeletons } from "../ui/RowSkeleton";

const ReceivedRequests = graphql(`
  query ReceivedRequests($first: Int!, $after: String) {
    viewer {
      id
      incomingFollowRequests(first: $first, after: $after) {
        totalCount
        edges {
          cursor
          node {
            id
            message
            requestedAt
            from {
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

export function ReceivedRequestsPage() {
  const { data, error, fetchMore, refetch } = useQuery(ReceivedRequests, { variables: { first: PAGE_SIZE } });
  const list = data?.viewer?.incomingFollowRequests;
  const endCursor = list?.pageInfo.endCursor;
  const scroll = useInfiniteScroll(list?.pageInfo.hasNextPage ?? false, () =>
    fetchMore({ variables: { after: endCursor } }),
  );
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!list) return <RowSkeletons />;
  if (list.edges.length === 0) {
    return (
      <Notice icon={<Inbox />} title="Nobody is waiting">
        Requests come in when your account is protected, and appear here by themselves.
      </Notice>
    );
  }
  return (
    <>
      <ul className="people" aria-label="Requests">
        {list.edges.map(({ node }) => (
          <li key={node.id}>
            <RequestRow request={node} />
          </li>
        ))}
      </ul>
      <ListEnd scroll={scroll} hasMore={list.pageInfo.hasNextPage} />
    </>
  );
}
