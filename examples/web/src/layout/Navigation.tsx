import { useQuery } from "@apollo/client/react";
import { Inbox, Settings, User, Users } from "lucide-react";
import { NavLink } from "react-router";
import { graphql } from "../gql";
import { useSession } from "../session/SessionContext";

const RequestBadge = graphql(`
  query RequestBadge {
    viewer {
      id
      badge: incomingFollowRequests(first: 0) {
        totalCount
      }
    }
  }
`);

export function Navigation() {
  const { userId } = useSession();
  const { data } = useQuery(RequestBadge);
  const waiting = data?.viewer?.badge.totalCount ?? 0;
  return (
    <nav className="navigation" aria-label="Main">
      <NavLink to={`/u/${userId}`}>
        <User aria-hidden="true" /> <span>Profile</span>
      </NavLink>
      <NavLink to="/people">
        <Users aria-hidden="true" /> <span>People</span>
      </NavLink>
      <NavLink to="/requests">
        <Inbox aria-hidden="true" /> <span>Requests</span>
        {waiting > 0 && (
          <span className="count-badge">
            {waiting}
            <span className="visually-hidden"> waiting</span>
          </span>
        )}
      </NavLink>
      <NavLink to="/settings">
        <Settings aria-hidden="true" /> <span>Settings</span>
      </NavLink>
    </nav>
  );
}
