import type { ApolloCache } from "@apollo/client";
import type { ChangeFragment, CountsFragment as Counts, RelationshipFragment } from "../gql/graphql";
import { CountsFragment } from "../people/fragments";
import type { ChangeInput } from "./changes";
import type { Guess, Subject } from "./optimistic";

interface Guessed {
  viewerId: string;
  user: RelationshipFragment;
  payload: ChangeFragment["__typename"];
  guess: Guess;
  input: Partial<ChangeInput>;
}

/** The expected response to a change: both users from the cache, changed. */
export function optimisticChange(cache: ApolloCache, { viewerId, user, payload, guess, input }: Guessed): ChangeFragment {
  const before: Subject = { ...counts(cache, user.id), ...relationshipOf(user) };
  const after = guess(before, input);
  return {
    __typename: payload,
    changed: true,
    undoToken: null,
    consistency: null,
    consistencyToken: null,
    userErrors: [],
    user: after,
    viewer: { __typename: "Viewer", id: `viewer:${viewerId}`, user: viewerAfter(counts(cache, viewerId), before, after) },
  };
}

function viewerAfter(viewer: Counts, before: Subject, after: Subject): Counts {
  const grown = (is: (user: Subject) => boolean | undefined) => Number(is(after) ?? 0) - Number(is(before) ?? 0);
  const plus = (count: number | null, by: number) => (count === null ? null : count + by);
  return {
    ...viewer,
    followingCount: plus(viewer.followingCount, grown((user) => user.viewerRelation?.following)),
    followerCount: plus(viewer.followerCount, grown((user) => user.viewerRelation?.followedBy)),
    friendCount: plus(viewer.friendCount, grown((user) => user.viewerRelation?.state === "FRIENDS")),
  };
}

const relationshipOf = ({ viewerRelation, viewerFollowEligibility }: RelationshipFragment) => ({
  viewerRelation,
  viewerFollowEligibility,
});

function counts(cache: ApolloCache, userId: string): Counts {
  const known = cache.readFragment({
    id: cache.identify({ __typename: "User", id: userId }),
    fragment: CountsFragment,
    fragmentName: "Counts",
    optimistic: true,
  });
  return known ?? { __typename: "User", id: userId, followerCount: null, followingCount: null, friendCount: null };
}
