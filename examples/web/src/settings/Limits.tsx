import { graphql } from "../gql";
import type { LimitsFragment } from "../gql/graphql";

export const LimitsFields = graphql(`
  fragment Limits on RelationshipLimits {
    following {
      limit
      used
    }
    blocks {
      limit
      used
    }
    changes {
      limit
      remaining
    }
  }
`);

const number = new Intl.NumberFormat("en");

/** The viewer's limits, and what is left of them. */
export function Limits({ limits: { following, blocks, changes } }: { limits: LimitsFragment }) {
  return (
    <section className="setting setting-column" aria-labelledby="limits">
      <h2 id="limits">Your limits</h2>
      <Limit name="People you follow or ask" {...following} />
      <Limit name="People you block" {...blocks} />
      <Limit name="Recent changes" limit={changes.limit} used={changes.limit - changes.remaining} />
    </section>
  );
}

function Limit({ name, used, limit }: { name: string; used: number; limit: number }) {
  return (
    <div className="limit">
      <span>{name}</span>
      <small>
        {number.format(used)} of {number.format(limit)}
      </small>
      <meter aria-label={name} min={0} max={limit} high={limit * 0.9} value={used} />
    </div>
  );
}
