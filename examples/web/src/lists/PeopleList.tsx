import { useState, type ReactNode } from "react";
import { graphql } from "../gql";
import type { PersonFragment } from "../gql/graphql";
import { useLiveRelations } from "../live/useLiveRelations";
import { PersonRow } from "../people/PersonRow";
import { ListEnd } from "./ListEnd";
import { NameFilter } from "./NameFilter";
import { useInfiniteScroll } from "./useInfiniteScroll";

/** A page of any list of users. All of Kith's connections share this interface; each adds the dates of its edges. */
export const PeoplePageFragment = graphql(`
  fragment PeoplePage on UserConnection {
    access
    totalCount
    unavailableCount
    edges {
      cursor
      node {
        ...Person
      }
    }
    pageInfo {
      hasNextPage
      hasPreviousPage
      startCursor
      endCursor
    }
  }
`);

interface PeoplePage<E extends { node: PersonFragment }> {
  totalCount: number;
  /** Known for the viewer's own lists only. */
  unavailableCount?: number | null;
  edges: E[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

interface PeopleListProps<E extends { node: PersonFragment }> {
  label: string;
  page: PeoplePage<E>;
  onMore: (after: string | null) => Promise<unknown>;
  empty: ReactNode;
  detail?: (edge: E) => ReactNode;
  badge?: (edge: E) => ReactNode;
}

/** A list of people that loads its next page before the reader reaches it. */
export function PeopleList<E extends { node: PersonFragment }>(props: PeopleListProps<E>) {
  const { label, page, onMore, empty, detail, badge } = props;
  const [name, setName] = useState("");
  useLiveRelations(page.edges.map(({ node }) => node.id));
  const { hasNextPage, endCursor } = page.pageInfo;
  const scroll = useInfiniteScroll(hasNextPage, () => onMore(endCursor));

  if (page.edges.length === 0) return <>{empty}</>;
  const shown = page.edges.filter(({ node }) => matches(node, name));
  return (
    <section aria-label={label}>
      <NameFilter value={name} onChange={setName} loaded={page.edges.length} total={page.totalCount} />
      <ul className="people" aria-label={label}>
        {shown.map((edge) => (
          <li key={edge.node.id}>
            <PersonRow person={edge.node} detail={detail?.(edge)} badge={badge?.(edge)} />
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="hint">Nobody of the {page.edges.length} loaded is called that.</p>}
      <Unavailable count={page.unavailableCount ?? 0} />
      <ListEnd scroll={scroll} hasMore={hasNextPage} />
    </section>
  );
}

/** How many people the list leaves out, because their accounts are deactivated or deleted. */
function Unavailable({ count }: { count: number }) {
  if (count === 0) return null;
  return <p className="hint list-note">{count === 1 ? "1 account is" : `${count} accounts are`} not available.</p>;
}

const matches = ({ displayName, handle }: PersonFragment, name: string) =>
  `${displayName} @${handle}`.toLowerCase().includes(name.trim().toLowerCase());
