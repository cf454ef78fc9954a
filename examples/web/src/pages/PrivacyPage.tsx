import { useQuery } from "@apollo/client/react";
import { graphql } from "../gql";
import type { ListAudience } from "../gql/graphql";
import { AudienceSelect } from "../settings/AudienceSelect";
import { Limits } from "../settings/Limits";
import { useSettings } from "../settings/useSettings";
import { Failure } from "../ui/Failure";
import { RowSkeletons } from "../ui/RowSkeleton";
import "../settings/settings.css";

const Privacy = graphql(`
  query Privacy {
    viewer {
      id
      relationshipSettings {
        ...Settings
      }
      limits {
        ...Limits
      }
    }
  }
`);

export function PrivacyPage() {
  const { data, error, refetch } = useQuery(Privacy);
  const save = useSettings();
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data?.viewer) return <RowSkeletons count={3} />;
  const { relationshipSettings: settings, limits } = data.viewer;
  const audience = (field: "followersAudience" | "followingAudience") => (chosen: ListAudience) =>
    void save(settings, { [field]: chosen });
  return (
    <div className="settings">
      <label className="setting">
        <span>
          <strong>Protected account</strong>
          <small>You approve who follows you. Turning this off accepts nobody who waits.</small>
        </span>
        <input
          type="checkbox"
          role="switch"
          className="switch"
          checked={settings.protected}
          onChange={(event) => void save(settings, { protected: event.target.checked })}
        />
      </label>
      <AudienceSelect
        title="Who sees your followers"
        value={settings.followersAudience}
        onChange={audience("followersAudience")}
      />
      <AudienceSelect
        title="Who sees whom you follow"
        value={settings.followingAudience}
        onChange={audience("followingAudience")}
      />
      <p className="hint">Your list of friends is as private as the more private of the two.</p>
      <Limits limits={limits} />
    </div>
  );
}
