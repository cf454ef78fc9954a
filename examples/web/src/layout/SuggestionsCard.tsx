import { useQuery } from "@apollo/client/react";
import { Link, useLocation } from "react-router";
import { SuggestionRow } from "../people/SuggestionRow";
import { PAGE_SIZE } from "../lists/pageSize";
import { Suggestions } from "../people/suggestions";

const SHOWN_MAX = 3;

export function SuggestionsCard() {
  const { data } = useQuery(Suggestions, { variables: { first: PAGE_SIZE } });
  const { pathname } = useLocation();
  const edges = data?.viewer?.suggestions.edges ?? [];
  if (edges.length === 0 || pathname === "/people") return null;
  return (
    <section className="card" aria-labelledby="suggested">
      <h2 id="suggested">
        You may know <Link to="/people">See all</Link>
      </h2>
      <ul className="people people-narrow">
        {edges.slice(0, SHOWN_MAX).map(({ node }) => (
          <li key={node.user.id}>
            <SuggestionRow suggestion={node} />
          </li>
        ))}
      </ul>
    </section>
  );
}
