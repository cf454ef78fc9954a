import { graphql } from "../gql";
import type { SettingsFragment, UpdateRelationshipSettingsInput, UpdateSettingsMutation } from "../gql/graphql";
import { useSave } from "../own/useSave";
import { useSession } from "../session/SessionContext";

export const SettingsFields = graphql(`
  fragment Settings on RelationshipSettings {
    protected
    followersAudience
    followingAudience
    followingLimit
  }
`);

const UpdateSettings = graphql(`
  mutation UpdateSettings($input: UpdateRelationshipSettingsInput!) {
    change: updateRelationshipSettings(input: $input) {
      settings {
        ...Settings
      }
      viewer {
        id
        relationshipSettings {
          ...Settings
        }
      }
      userErrors {
        ...Problem
      }
      consistency
      consistencyToken
    }
  }
`);

type Changes = Omit<UpdateRelationshipSettingsInput, "idempotencyKey">;

/** Save settings. The page shows them as saved at once. */
export function useSettings() {
  const save = useSave();
  const { userId } = useSession();

  return (current: SettingsFragment, changes: Changes) =>
    save(UpdateSettings, changes, {
      guess: guess({ ...current, ...changes } as SettingsFragment, userId),
      done: "Saved.",
    });
}

const guess = (settings: SettingsFragment, userId: string): NonNullable<UpdateSettingsMutation["change"]> => ({
  __typename: "UpdateRelationshipSettingsPayload",
  settings,
  viewer: {
    __typename: "Viewer",
    id: `viewer:${userId}`,
    relationshipSettings: settings,
  },
  userErrors: [],
  consistency: null,
  consistencyToken: null,
});
