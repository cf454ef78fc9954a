import { useApolloClient } from "@apollo/client/react";
import { rememberToken } from "../apollo/freshness";
import { DELAYED, failureInWords, problemInWords } from "../errors/words";
import { graphql } from "../gql";
import type { SettingsFragment, UpdateRelationshipSettingsInput, UpdateSettingsMutation } from "../gql/graphql";
import { useSession } from "../session/SessionContext";
import { useToast } from "../toasts/ToastContext";

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

/** Save settings; they look saved at once. */
export function useSettings() {
  const client = useApolloClient();
  const toast = useToast();
  const { userId } = useSession();

  return async (current: SettingsFragment, changes: Changes) => {
    try {
      const { data } = await client.mutate({
        mutation: UpdateSettings,
        variables: { input: { ...changes, idempotencyKey: crypto.randomUUID() } },
        optimisticResponse: { change: guess({ ...current, ...changes } as SettingsFragment, userId) },
      });
      rememberToken(data?.change?.consistencyToken);
      const [problem] = data?.change?.userErrors ?? [];
      if (problem) return toast({ tone: "error", text: problemInWords(problem) });
      toast({ text: data?.change?.consistency === "DELAYED" ? DELAYED : "Saved." });
    } catch (error) {
      toast({ tone: "error", text: failureInWords(error) });
    }
  };
}

const guess = (settings: SettingsFragment, userId: string): UpdateSettingsMutation["change"] => ({
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
