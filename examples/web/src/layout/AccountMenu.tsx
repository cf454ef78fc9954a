import { useQuery } from "@apollo/client/react";
import { ChevronsUpDown, LogOut } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { useNavigate } from "react-router";
import { graphql } from "../gql";
import { SAMPLE_USERS } from "../session/sampleUsers";
import { useSession } from "../session/SessionContext";
import { useToast } from "../toasts/ToastContext";
import { Avatar } from "../ui/Avatar";

const AccountMenuQuery = graphql(`
  query AccountMenu($ids: [ID!]!) {
    users(ids: $ids) {
      ...Profile
    }
  }
`);

/** The signed-in user, and a switch to another user, for development only. */
export function AccountMenu() {
  const { userId, signInAs, signOut } = useSession();
  const navigate = useNavigate();
  const toast = useToast();
  const { data } = useQuery(AccountMenuQuery, {
    variables: { ids: [...new Set([userId, ...SAMPLE_USERS.map(({ id }) => id)])] },
  });
  const profiles = new Map(data?.users?.flatMap((user) => (user ? [[user.id, user] as const] : [])));
  const me = profiles.get(userId);

  const become = async (id: string) => {
    try {
      await signInAs(id);
      await navigate(`/u/${id}`);
    } catch (error) {
      toast({ tone: "error", text: (error as Error).message });
    }
  };

  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className="account">
        <span className="visually-hidden">Your account</span>
        {me && <Avatar src={me.avatarUrl} size="small" />}
        <span className="account-name">
          <strong>{me?.displayName ?? `User ${userId}`}</strong>
          <small>@{me?.handle}</small>
        </span>
        <ChevronsUpDown size={16} aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="start" sideOffset={6} collisionPadding={12}>
          <DropdownMenu.Label className="menu-label">Become somebody else (development)</DropdownMenu.Label>
          {SAMPLE_USERS.filter(({ id }) => id !== userId).map(({ id, about }) => {
            const profile = profiles.get(id);
            return (
              <DropdownMenu.Item key={id} className="menu-item" onSelect={() => void become(id)}>
                {profile && <Avatar src={profile.avatarUrl} size="small" />}
                <span className="menu-two-lines">
                  {profile?.displayName ?? `User ${id}`}
                  <small>{about}</small>
                </span>
              </DropdownMenu.Item>
            );
          })}
          <DropdownMenu.Separator className="menu-separator" />
          <DropdownMenu.Item className="menu-item" onSelect={signOut}>
            <LogOut />
            Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
