import { Search } from "lucide-react";

interface NameFilterProps {
  value: string;
  onChange: (value: string) => void;
  loaded: number;
  total: number;
}

/** Filter by name in the browser: Kith does not store names, so it cannot filter by them. */
export function NameFilter({ value, onChange, loaded, total }: NameFilterProps) {
  return (
    <label className="search">
      <Search size={16} aria-hidden="true" />
      <input
        type="search"
        value={value}
        placeholder={loaded < total ? `Filter the ${loaded} of ${total} loaded by name` : `Filter ${total} by name`}
        aria-label="Filter the loaded rows by name"
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
