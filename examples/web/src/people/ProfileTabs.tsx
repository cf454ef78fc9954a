import type { CountsFragment } from "../gql/graphql";
import { CountBadge } from "../ui/CountBadge";
import { formatCount } from "../ui/format";
import { Tabs } from "../ui/Tabs";

/** The counts of a user, which link to their lists. A count is null if the viewer may not open the list. */
export function ProfileTabs({ user, newFollowers }: { user: CountsFragment; newFollowers: number }) {
  const base = `/u/${user.id}`;
  return (
    <Tabs
      label="Profile"
      tabs={[
        { to: base, label: "Overview" },
        { to: `${base}/followers`, label: <Followers count={user.followerCount} new={newFollowers} /> },
        { to: `${base}/following`, label: <Count of={user.followingCount} name="Following" /> },
        { to: `${base}/friends`, label: <Count of={user.friendCount} name="Friends" /> },
      ]}
    />
  );
}

function Followers({ count, new: newFollowers }: { count: number | null; new: number }) {
  return (
    <>
      <Count of={count} name="Followers" /> <CountBadge count={newFollowers} of="new" />
    </>
  );
}

function Count({ of, name }: { of: number | null; name: string }) {
  return (
    <>
      {of !== null && <strong data-count={name}>{formatCount(of)}</strong>} {name}
    </>
  );
}
