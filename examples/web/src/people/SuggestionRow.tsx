import { X } from "lucide-react";
import type { SuggestionItemFragment } from "../gql/graphql";
import { FollowButton } from "../relationship/FollowButton";
import { useChange } from "../relationship/useChange";
import { PersonRow } from "./PersonRow";
import { withoutSuggestion } from "./suggestions";

export function SuggestionRow({ suggestion }: { suggestion: SuggestionItemFragment }) {
  const change = useChange();
  const { user } = suggestion;
  const dismiss = () =>
    change("dismissSuggestion", user, { update: (cache) => withoutSuggestion(cache, user.id) });
  return (
    <PersonRow
      person={user}
      detail={reasonInWords(suggestion)}
      actions={
        <>
          <FollowButton user={user} />
          <button
            type="button"
            className="icon-button"
            aria-label={`Do not suggest ${user.displayName}`}
            onClick={() => void dismiss()}
          >
            <X size={18} />
          </button>
        </>
      }
    />
  );
}

/** Why somebody is suggested. Empty for followers of the viewer: the badge and the button show that. */
function reasonInWords({ reason, knownFollowers: [first], knownFollowerCount }: SuggestionItemFragment) {
  if (reason === "FOLLOWS_YOU") return undefined;
  if (reason === "FOLLOWED_BY_PEERS") return "Followed by people who follow the same accounts";
  if (reason === "POPULAR") return "Followed by many people here";
  if (!first) return "Followed by people you follow";
  const others = knownFollowerCount - 1;
  return others > 0 ? `Followed by ${first.displayName} and ${others} more you follow` : `Followed by ${first.displayName}`;
}
