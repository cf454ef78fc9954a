import { useEffect, useEffectEvent, useRef } from "react";

/**
 * Ask for those who came since the list was read, whenever the live count of its owner rises. They
 * are before the first row that is shown, so the rows below stay where they are.
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
