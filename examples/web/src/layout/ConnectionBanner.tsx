import { WifiOff } from "lucide-react";
import { useLiveStatus, useOnline } from "../live/connection";

/** A banner while the page may be out of date. */
export function ConnectionBanner() {
  const online = useOnline();
  const status = useLiveStatus();
  const text = !online
    ? "You are offline. What you see may be out of date, and nothing can be changed."
    : status === "broken"
      ? "Live updates are interrupted. Trying to reconnect…"
      : "";
  return (
    <div role="status" className={text ? "banner" : ""}>
      {text && <WifiOff size={16} aria-hidden="true" />}
      {text}
    </div>
  );
}
