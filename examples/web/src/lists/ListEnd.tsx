import type { RefObject } from "react";
import { failureInWords } from "../errors/words";

interface ListEndProps {
  scroll: { end: RefObject<HTMLDivElement | null>; error: unknown; retry: () => void };
  hasMore: boolean;
}

/** The end of the loaded rows. The next page is requested when it comes near the window. */
export function ListEnd({ scroll: { end, error, retry }, hasMore }: ListEndProps) {
  return (
    <div ref={end} className="list-end" role="status">
      {error ? (
        <>
          {failureInWords(error)}{" "}
          <button type="button" className="button" onClick={retry}>
            Try again
          </button>
        </>
      ) : (
        hasMore && "Loading more…"
      )}
    </div>
  );
}
