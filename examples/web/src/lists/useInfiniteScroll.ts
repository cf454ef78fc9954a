import { useEffect, useEffectEvent, useRef, useState } from "react";

/**
 * Call `onMore` whenever the element with the ref `end` comes near the window, one call at a time.
 * After a failure it waits for `retry`.
 */
export function useInfiniteScroll(hasMore: boolean, onMore: () => Promise<unknown>) {
  const end = useRef<HTMLDivElement>(null);
  const loading = useRef(false);
  const [error, setError] = useState<unknown>(null);

  const load = useEffectEvent(async (): Promise<void> => {
    loading.current = true;
    try {
      await onMore();
    } catch (failure) {
      setError(failure);
    } finally {
      loading.current = false;
    }
  });

  useEffect(() => {
    if (!hasMore || error || !end.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        // A busy browser reports several changes at once, the oldest first: the last one is true now.
        if (entries.at(-1)?.isIntersecting && !loading.current) void load().then(again);
      },
      { rootMargin: "600px" },
    );
    // An observer reports changes only. If the end is still visible after a page, observe it again.
    function again() {
      if (!end.current) return;
      observer.unobserve(end.current);
      observer.observe(end.current);
    }
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasMore, error]);

  return { end, error, retry: () => setError(null) };
}
