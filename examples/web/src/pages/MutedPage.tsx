import { useQuery } from "@apollo/client/react";
import { BellOff } from "lucide-react";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";
import { PeopleList } from "../lists/PeopleList";
import { Failure } from "../ui/Failure";
import { Notice } from "../ui/Notice";
import { RowSkeletons } from "../ui/RowSkeleton";

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

const Muted = graphql(`
  query Muted($first: Int!, $after: String) {
    viewer {
      id
      mutedUsers(first: $first, after: $after) {
        ...PeoplePage
        edges {
          mutedUntil
        }
      }
    }
  }
`);

export function MutedPage() {
  const { data, error, fetchMore, refetch } = useQuery(Muted, { variables: { first: PAGE_SIZE } });
  const list = data?.viewer?.mutedUsers;
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!list) return <RowSkeletons />;
  return (
    <PeopleList
      label="Muted people"
      page={list}
      onMore={(after) => fetchMore({ variables: { after } })}
      detail={({ mutedUntil, node }) => mutedUntil ? `@${node.handle} · until ${day.format(new Date(mutedUntil))}` : `@${node.handle}`}
      empty={<Notice icon={<BellOff />} title="You have muted nobody." />}
    />
  );
}
