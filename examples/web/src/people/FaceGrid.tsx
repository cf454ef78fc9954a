import { Link } from "react-router";
import type { ProfileFragment } from "../gql/graphql";
import { Avatar } from "../ui/Avatar";

interface FaceGridProps {
  title: string;
  list: { totalCount: number; nodes: ProfileFragment[] };
  to?: string | undefined;
}

/** The first people of a list as faces. */
export function FaceGrid({ title, list, to }: FaceGridProps) {
  return (
    <section className="card">
      <h2>
        {title} <span className="quiet">{list.totalCount}</span>
        {to && <Link to={to}>See all</Link>}
      </h2>
      <ul className="faces">
        {list.nodes.map((person) => (
          <li key={person.id}>
            <Link to={`/u/${person.id}`}>
              <Avatar src={person.avatarUrl} />
              <span>{person.displayName}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
