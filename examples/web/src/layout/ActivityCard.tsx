import { useQuery } from "@apollo/client/react";
import { Link } from "react-router";
import { graphql } from "../gql";
import { activityInWords, useActivity } from "../live/activity";
import { useLiveStatus } from "../live/connection";
import { Avatar } from "../ui/Avatar";
import { formatWhen } from "../ui/format";

const ActivityPeople = graphql(`
  query ActivityPeople($ids: [ID!]!) {
    users(ids: $ids) {
      ...Profile
    }
  }
`);

const SHOWN_MAX = 5;

/** The events since the app was opened. Events have ids; the router returns the names. */
export function ActivityCard() {
  const status = useLiveStatus();
  const shown = useActivity()
    .filter((event) => activityInWords(event) !== null)
    .slice(0, SHOWN_MAX);
  const ids = [...new Set(shown.map(({ otherId }) => otherId))].sort();
  const { data, previousData } = useQuery(ActivityPeople, { variables: { ids }, skip: ids.length === 0 });
  const people = new Map((data ?? previousData)?.users?.flatMap((user) => (user ? [[user.id, user] as const] : [])));

  return (
    <section className="card" aria-labelledby="activity">
      <h2 id="activity">
        Right now <span className={`live live-${status}`}>{status === "live" ? "Live" : "Connecting"}</span>
      </h2>
      {shown.length === 0 && <p className="hint">New followers and requests appear here by themselves.</p>}
      <ul className="activity">
        {shown.map((event) => {
          const person = people.get(event.otherId);
          const [before, after] = (activityInWords(event) ?? "").split("{}");
          return (
            person && (
              <li key={event.id}>
                <Avatar src={person.avatarUrl} size="small" />
                <span>
                  {before}
                  <Link to={`/u/${person.id}`}>{person.displayName}</Link>
                  {after}
                  {event.at && <small> · {formatWhen(event.at)}</small>}
                </span>
              </li>
            )
          );
        })}
      </ul>
    </section>
  );
}
