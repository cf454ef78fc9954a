import { useState } from "react";
import type { FollowerFilter } from "../gql/graphql";

const DAY_MS = 86_400_000;

const CHOICES = {
  all: { label: "Everybody", filter: () => null },
  known: { label: "People you follow", filter: () => ({ viewerFollows: true }) },
  unknown: { label: "People you do not follow", filter: () => ({ viewerFollows: false }) },
  new: {
    label: "New this week",
    filter: () => ({ since: new Date(Date.now() - 7 * DAY_MS).toISOString() }),
  },
} satisfies Record<string, { label: string; filter: () => FollowerFilter | null }>;

type Choice = keyof typeof CHOICES;

interface FollowerFiltersProps {
  onChange: (filter: FollowerFilter | null) => void;
}

/** The filters that Kith applies itself, to the whole list. */
export function FollowerFilters({ onChange }: FollowerFiltersProps) {
  const [chosen, setChosen] = useState<Choice>("all");
  return (
    <div className="chips" role="group" aria-label="Show">
      {(Object.keys(CHOICES) as Choice[]).map((choice) => (
        <button
          key={choice}
          type="button"
          className="chip"
          aria-pressed={chosen === choice}
          onClick={() => {
            setChosen(choice);
            onChange(CHOICES[choice].filter());
          }}
        >
          {CHOICES[choice].label}
        </button>
      ))}
    </div>
  );
}
