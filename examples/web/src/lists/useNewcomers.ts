import { useEffect, useEffectEvent, useRef } from "react";

/**
 * When the live count of the owner rises, query the entries that were added since the list was read. They
 * are placed before the first row, so the other rows do not move.
 */
export function useNewcomers(
  count: number | null,
  startCursor: string | null | undefined,
  onNewcomers: (before: string | null | undefined) => Promise<unknown>,
): void {
  const known = useRef(count);
  const load = useEffectEvent(() => {
    onNewcomers(startCursor).catch(() => undefined);
  });
  useEffect(() => {
    const before = known.current;
    known.current = count;
    if (before !== null && count !== null && count > before) load();
  }, [count]);
}
