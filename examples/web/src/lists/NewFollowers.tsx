import { graphql } from "../gql";
import { useSave } from "../own/useSave";
import { useSession } from "../session/SessionContext";

const MarkFollowersSeen = graphql(`
  mutation MarkFollowersSeen($input: MarkFollowersSeenInput!) {
    change: markFollowersSeen(input: $input) {
      viewer {
        id
        user {
          id
          newFollowersCount
        }
      }
      userErrors {
        ...Problem
      }
    }
  }
`);

interface NewFollowersProps {
  count: number;
  /** The cursor of the first row: later followers have not been seen. */
  newestCursor: string | undefined;
}

/** How many followers are new, and a button that marks those in the list as seen. */
export function NewFollowers({ count, newestCursor }: NewFollowersProps) {
  const save = useSave();
  const { userId } = useSession();
  if (count === 0 || !newestCursor) return null;
  const markSeen = () =>
    save(
      MarkFollowersSeen,
      { upToCursor: newestCursor },
      {
        guess: {
          __typename: "MarkFollowersSeenPayload",
          viewer: {
            __typename: "Viewer",
            id: `viewer:${userId}`,
            user: { __typename: "User", id: userId, newFollowersCount: 0 },
          },
          userErrors: [],
        },
        outdated: ["Followers"],
      },
    );
  return (
    <p className="list-bar">
      <strong>{count === 1 ? "1 new follower" : `${count} new followers`}</strong>
      <button type="button" className="button" onClick={() => void markSeen()}>
        Mark as seen
      </button>
    </p>
  );
}
