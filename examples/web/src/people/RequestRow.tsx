import type { ReceivedRequestsQuery } from "../gql/graphql";
import { useChange } from "../relationship/useChange";
import { formatWhen } from "../ui/format";
import { PersonRow } from "./PersonRow";

type Request = NonNullable<ReceivedRequestsQuery["viewer"]>["incomingFollowRequests"]["edges"][number]["node"];

/** A request with its two answers. Once answered, the row has the usual buttons. */
export function RequestRow({ request }: { request: Request }) {
  const change = useChange();
  const { from, message, requestedAt } = request;
  const detail = (
    <>
      {message && <q className="message">{message}</q>}
      <small>{formatWhen(requestedAt)}</small>
    </>
  );
  if (!from.viewerRelation?.requestedBy) {
    return <PersonRow person={from} detail={from.viewerRelation?.followedBy ? "Accepted" : "Declined"} />;
  }
  return (
    <PersonRow
      person={from}
      detail={detail}
      actions={
        <>
          <button
            type="button"
            className="button button-primary"
            aria-label={`Accept ${from.displayName}`}
            onClick={() => void change("acceptRequest", from)}
          >
            Accept
          </button>
          <button
            type="button"
            className="button button-quiet"
            aria-label={`Decline ${from.displayName}`}
            onClick={() => void change("declineRequest", from)}
          >
            Decline
          </button>
        </>
      }
    />
  );
}
