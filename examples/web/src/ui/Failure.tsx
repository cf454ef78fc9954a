import { CloudOff } from "lucide-react";
import { failureInWords } from "../errors/words";
import { Notice } from "./Notice";

/** A query that failed, with a way to try again. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div role="alert">
      <Notice icon={<CloudOff />} title={failureInWords(error)}>
        {onRetry && (
          <button type="button" className="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </Notice>
    </div>
  );
}
