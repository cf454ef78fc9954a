import { formatCount } from "./format";

/** A number that waits for the viewer, such as "2 new followers"; nothing for 0. */
export function CountBadge({ count, of }: { count: number; of: string }) {
  if (count === 0) return null;
  return (
    <span className="count-badge">
      {formatCount(count)}
      <span className="visually-hidden"> {of}</span>
    </span>
  );
}
