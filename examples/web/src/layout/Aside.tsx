import { ActivityCard } from "./ActivityCard";
import { SuggestionsCard } from "./SuggestionsCard";

/** What wide windows show beside the page. */
export function Aside() {
  return (
    <aside className="aside" aria-label="Activity and suggestions">
      <ActivityCard />
      <SuggestionsCard />
    </aside>
  );
}
