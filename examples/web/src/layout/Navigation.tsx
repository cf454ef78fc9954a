import { useQuery } from "@apollo/client/react";
import { Inbox, Settings, User, Users } from "lucide-react";
import { NavLink } from "react-router";
import { graphql } from "../gql";
import { useSession } from "../session/SessionContext";
import { CountBadge } from "../ui/CountBadge";

const Badges = graphql(`
  query Badges {
    viewer {
      id
      user {
        id
        newFollowersCount
      }
      badge: incomingFollowRequests(first: 0) {
        totalCount
      }
    }
  }
`);

export function Navigation() {
  const { userId } = useSession();
  const { data } = useQuery(Badges);
  const waiting = data?.viewer?.badge.totalCount ?? 0;
  const followers = data?.viewer?.user.newFollowersCount ?? 0;
  return (
    <nav className="navigation" aria-label="Main">
      <NavLink to={`/u/${userId}`}>
        <User aria-hidden="true" /> <span>Profile</span>
        <CountBadge count={followers} of="new followers" />
      </NavLink>
      <NavLink to="/people">
        <Users aria-hidden="true" /> <span>People</span>
      </NavLink>
      <NavLink to="/requests">
        <Inbox aria-hidden="true" /> <span>Requests</span>
        <CountBadge count={waiting} of="waiting" />
      </NavLink>
      <NavLink to="/settings">
        <Settings aria-hidden="true" /> <span>Settings</span>
      </NavLink>
    </nav>
  );
}
