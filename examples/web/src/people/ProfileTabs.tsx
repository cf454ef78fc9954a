import type { CountsFragment } from "../gql/graphql";
import { formatCount } from "../ui/format";
import { Tabs } from "../ui/Tabs";

/** The counts of a user are the ways to their lists. A count is null where the viewer may not open the list. */
export function ProfileTabs({ user }: { user: CountsFragment }) {
  const base = `/u/${user.id}`;
  return (
    <Tabs
      label="Profile"
      tabs={[
        { to: base, label: "Overview" },
        { to: `${base}/followers`, label: <Count of={user.followerCount} name="Followers" /> },
        { to: `${base}/following`, label: <Count of={user.followingCount} name="Following" /> },
        { to: `${base}/friends`, label: <Count of={user.friendCount} name="Friends" /> },
      ]}
    />
  );
}

function Count({ of, name }: { of: number | null; name: string }) {
  return (
    <>
      {of !== null && <strong data-count={name}>{formatCount(of)}</strong>} {name}
    </>
  );
}
