const number = new Intl.NumberFormat("en");

/** How many people the viewer may follow, and does. */
export function Limits({ following, limit }: { following: number; limit: number }) {
  return (
    <div className="setting setting-column">
      <span>
        <strong>Following</strong>
        <small>
          {number.format(following)} of {number.format(limit)}
        </small>
      </span>
      <meter aria-label="People you follow" min={0} max={limit} high={limit * 0.9} value={following} />
    </div>
  );
}
