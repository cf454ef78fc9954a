import { useEffect, useEffectEvent, useRef } from "react";

/** Call `onMore` whenever the element with the returned ref comes near the window, one call at a time. */
export function useInfiniteScroll(hasMore: boolean, onMore: () => Promise<unknown>) {
  const end = useRef<HTMLDivElement>(null);
  const loading = useRef(false);

  const load = useEffectEvent(async (): Promise<void> => {
    if (loading.current) return;
    loading.current = true;
    try {
      await onMore();
    } finally {
      loading.current = false;
    }
  });

  useEffect(() => {
    if (!hasMore || !end.current) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) load().then(again, () => undefined);
      },
      { rootMargin: "600px" },
    );
    // An observer reports a change only. After a page that left the end in sight, look again.
    function again() {
      if (!end.current) return;
      observer.unobserve(end.current);
      observer.observe(end.current);
    }
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasMore]);

  return end;
}
