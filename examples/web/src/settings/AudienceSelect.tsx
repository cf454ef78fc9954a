import type { ListAudience } from "../gql/graphql";

const NAMES: Record<ListAudience, string> = {
  EVERYONE: "Everybody",
  FOLLOWERS: "My followers",
  FRIENDS: "My friends",
  ONLY_ME: "Only me",
};

interface AudienceSelectProps {
  title: string;
  value: ListAudience;
  onChange: (audience: ListAudience) => void;
}

export function AudienceSelect({ title, value, onChange }: AudienceSelectProps) {
  return (
    <label className="setting">
      <strong>{title}</strong>
      <select value={value} onChange={(event) => onChange(event.target.value as ListAudience)}>
        {Object.entries(NAMES).map(([audience, name]) => (
          <option key={audience} value={audience}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
