import { ActivityCard } from "./ActivityCard";
import { SuggestionsCard } from "./SuggestionsCard";

/** The column beside the page in wide windows. */
export function Aside() {
  return (
    <aside className="aside" aria-label="Activity and suggestions">
      <ActivityCard />
      <SuggestionsCard />
    </aside>
  );
}
