/** Grey rows in place of those that are being loaded. */
export function RowSkeletons({ count = 5 }: { count?: number }) {
  return (
    <div role="progressbar" aria-label="Loading" aria-busy="true">
      {Array.from({ length: count }, (_, index) => (
        <div className="person skeleton" key={index} aria-hidden="true">
          <span className="avatar avatar-medium" />
          <span className="skeleton-lines" />
        </div>
      ))}
    </div>
  );
}
