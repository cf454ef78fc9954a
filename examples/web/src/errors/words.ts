import { CombinedGraphQLErrors } from "@apollo/client";
import type { ProblemFragment } from "../gql/graphql";

const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const number = new Intl.NumberFormat();

/** The text for a rejected change. Codes may be added, so Kith's own message is the default. */
export function problemInWords(problem: ProblemFragment): string {
  switch (problem.__typename) {
    case "FollowingLimitReached":
      return `You already follow ${number.format(problem.limit)} people, which is your limit. Unfollow somebody first.`;
    case "BlockLimitReached":
      return `You already block ${number.format(problem.limit)} people, which is your limit.`;
    case "RateLimited":
      return `That was a lot at once. Try again at ${time.format(new Date(problem.retryAt))}.`;
    case "NotAllowed":
      return "This person cannot be followed.";
    case "UnblockFirst":
      return "You have blocked this person. Unblock them first.";
    case "Conflict":
      return "This has changed in the meantime, perhaps on another device. Now you see how it is.";
    case "GroupLimitReached":
      return `You already have ${number.format(problem.limit)} groups, which is your limit.`;
    case "CannotUndo":
      return problem.reason === "OVERTAKEN"
        ? "This cannot be undone any more: things have changed since."
        : "This cannot be undone any more: it was too long ago.";
    default:
      return problem.message;
  }
}

/** The text for a change whose `consistency` is DELAYED. */
export const DELAYED = "It is saved, and may take a moment to show everywhere.";

const FAILURES: Record<string, string> = {
  UNAUTHENTICATED: "You are signed out. Sign in again.",
  FORBIDDEN: "You may not see this.",
  UNAVAILABLE: "A part of the service is down. Try again in a moment.",
  OVERLOADED: "The service is busy. Try again in a moment.",
  DEADLINE_EXCEEDED: "That took too long. Try again in a moment.",
  STALE: "Your last change is still on its way. Try again in a moment.",
};

/** The text for a request that failed as a whole. */
export function failureInWords(error: unknown): string {
  if (CombinedGraphQLErrors.is(error)) {
    const [first] = error.errors;
    const code = String(first?.extensions?.["code"]);
    return FAILURES[code] ?? "Something went wrong at our end. Try again in a moment.";
  }
  return navigator.onLine
    ? "The service does not answer. Try again in a moment."
    : "You are offline. Nothing was changed.";
}
