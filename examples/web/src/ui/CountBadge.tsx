import { formatCount } from "./format";

/** A number of new items, such as "2 new followers"; not shown for 0. */
export function CountBadge({ count, of }: { count: number; of: string }) {
  if (count === 0) return null;
  return (
    <span className="count-badge">
      {formatCount(count)}
      <span className="visually-hidden"> {of}</span>
    </span>
  );
}
