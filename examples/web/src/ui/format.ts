const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const month = new Intl.DateTimeFormat("en", { month: "short", year: "numeric" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const DAY_MS = 86_400_000;

export const formatCount = (count: number) => compact.format(count);

/** "just now", "3 hours ago", "yesterday"; the month if it is more than a week ago. */
export function formatWhen(iso: string): string {
  const at = new Date(iso);
  const ago = Date.now() - at.getTime();
  if (ago < 60_000) return "just now";
  if (ago < 3_600_000) return relative.format(-Math.round(ago / 60_000), "minute");
  if (ago < DAY_MS) return relative.format(-Math.round(ago / 3_600_000), "hour");
  if (ago < 7 * DAY_MS) return relative.format(-Math.round(ago / DAY_MS), "day");
  return month.format(at);
}
