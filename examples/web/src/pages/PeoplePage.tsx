import { useQuery } from "@apollo/client/react";
import { Search, Sparkles } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";
import { useLiveRelations } from "../live/useLiveRelations";
import { PersonRow } from "../people/PersonRow";
import { SuggestionRow } from "../people/SuggestionRow";
import { Suggestions } from "../people/suggestions";
import { ListEnd } from "../lists/ListEnd";
import { useInfiniteScroll } from "../lists/useInfiniteScroll";
import { Failure } from "../ui/Failure";
import { Notice } from "../ui/Notice";
import { RowSkeletons } from "../ui/RowSkeleton";

const PeopleNamed = graphql(`
  query PeopleNamed($text: String!) {
    peopleNamed(text: $text, first: 20) {
      ...Person
    }
  }
`);

export function PeoplePage() {
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  return (
    <>
      <title>People · Kindred</title>
      <h1>People</h1>
      <label className="search search-large">
        <Search size={18} aria-hidden="true" />
        <input
          type="search"
          value={text}
          placeholder="Search everybody by name"
          aria-label="Search everybody by name"
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      {wanted ? <Found text={wanted} /> : <Suggested />}
    </>
  );
}

/** The profiles subgraph finds the names, and the router adds from Kith what each button needs. */
function Found({ text }: { text: string }) {
  const { data, previousData, error, refetch } = useQuery(PeopleNamed, { variables: { text } });
  const people = (data ?? previousData)?.peopleNamed;
  useLiveRelations(people?.map(({ id }) => id) ?? []);
  if (error && !people) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!people) return <RowSkeletons />;
  if (people.length === 0) return <Notice icon={<Search />} title={`Nobody is called “${text}”.`} />;
  return (
    <ul className="people" aria-label="Found">
      {people.map((person) => (
        <li key={person.id}>
          <PersonRow person={person} />
        </li>
      ))}
    </ul>
  );
}

function Suggested() {
  const { data, error, fetchMore, refetch } = useQuery(Suggestions, { variables: { first: PAGE_SIZE } });
  const list = data?.viewer?.suggestions;
  const endCursor = list?.pageInfo.endCursor;
  const scroll = useInfiniteScroll(list?.pageInfo.hasNextPage ?? false, () =>
    fetchMore({ variables: { after: endCursor } }),
  );
  if (error && !list) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!list) return <RowSkeletons />;
  if (list.edges.length === 0) {
    return (
      <Notice icon={<Sparkles />} title="No suggestions yet">
        Follow a few people, and their friends will be suggested here.
      </Notice>
    );
  }
  return (
    <section aria-labelledby="suggestions">
      <h2 id="suggestions" className="list-title">Suggested for you</h2>
      <ul className="people">
        {list.edges.map(({ node }) => (
          <li key={node.user.id}>
            <SuggestionRow suggestion={node} />
          </li>
        ))}
      </ul>
      <ListEnd scroll={scroll} hasMore={list.pageInfo.hasNextPage} />
    </section>
  );
}
