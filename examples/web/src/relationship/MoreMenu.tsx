import type { ApolloCache } from "@apollo/client";
import { useQuery } from "@apollo/client/react";
import { Ban, Bell, BellMinus, BellOff, BellPlus, Ellipsis, Eye, EyeOff, Star, UserMinus } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { useState, type ReactNode } from "react";
import type { PersonFragment } from "../gql/graphql";
import { OwnDetails } from "../own/documents";
import { GroupsDialog } from "../own/GroupsDialog";
import { NoteDialog } from "../own/NoteDialog";
import { OwnItems } from "../own/OwnItems";
import { withoutSuggestion } from "../people/suggestions";
import type { ChangeName } from "./changes";
import { useChange } from "./useChange";
import "./menu.css";

interface Item {
  change: ChangeName;
  label: string;
  icon: ReactNode;
  danger?: boolean;
  input?: { visibility?: "WHISPER" | "PUBLIC"; closeFollow?: boolean; notify?: "ALL" | "NONE" };
}

function itemsFor({ viewerRelation: relation, viewerFollowEligibility: { code } }: PersonFragment): Item[] {
  if (!relation) return [];
  const items: Item[] = [];
  if (code === "ALLOWED" && !relation.following) {
    items.push({ change: "follow", label: "Follow quietly", icon: <EyeOff />, input: { visibility: "WHISPER" } });
  }
  if (relation.following) {
    const { closeFollow, notify, whispering } = relation;
    items.push(
      {
        change: "updateFollow",
        label: notify === "ALL" ? "Turn off notifications" : "Turn on notifications",
        icon: notify === "ALL" ? <BellMinus /> : <BellPlus />,
        input: { notify: notify === "ALL" ? "NONE" : "ALL" },
      },
      {
        change: "updateFollow",
        label: closeFollow ? "Not a close follow any more" : "Make a close follow",
        icon: <Star />,
        input: { closeFollow: !closeFollow },
      },
      {
        change: "updateFollow",
        label: whispering ? "Follow openly" : "Follow quietly",
        icon: whispering ? <Eye /> : <EyeOff />,
        input: { visibility: whispering ? "PUBLIC" : "WHISPER" },
      },
    );
  }
  items.push(
    relation.muted
      ? { change: "unmute", label: "Unmute", icon: <Bell /> }
      : { change: "mute", label: "Mute", icon: <BellOff /> },
  );
  if (relation.followedBy) {
    items.push({ change: "removeFollower", label: "Remove as follower", icon: <UserMinus />, danger: true });
  }
  items.push(
    relation.blocking
      ? { change: "unblock", label: "Unblock", icon: <Ban /> }
      : { change: "block", label: "Block", icon: <Ban />, danger: true },
  );
  return items;
}

/** All other changes of the relationship with a person. */
export function MoreMenu({ user }: { user: PersonFragment }) {
  const [asking, setAsking] = useState<ReactNode>(null);
  if (user.viewerRelation?.state === "SELF") return null;
  return (
    <>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className="icon-button" aria-label={`More about ${user.displayName}`}>
          <Ellipsis size={20} />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={6} collisionPadding={12}>
            <MenuItems user={user} onAsk={setAsking} onAnswer={() => setAsking(null)} />
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {asking}
    </>
  );
}

interface MenuItemsProps {
  user: PersonFragment;
  /** Show a dialog, which outlives the menu. */
  onAsk: (dialog: ReactNode) => void;
  onAnswer: () => void;
}

/**
 * The items of an open menu. They change the relationship that the viewer saw when the menu opened:
 * if it has changed since, Kith rejects that with CONFLICT, and returns it as it is now.
 */
function MenuItems({ user, onAsk, onAnswer }: MenuItemsProps) {
  const change = useChange();
  const { data: details } = useQuery(OwnDetails, { variables: { userId: user.id }, fetchPolicy: "network-only" });
  const { version, note } = details?.user?.viewerRelation ?? {};
  const unsuggest = (cache: ApolloCache) => withoutSuggestion(cache, user.id);
  return (
    <>
      <OwnItems
        user={user}
        details={details}
        onGroups={() => onAsk(<GroupsDialog user={user} onClose={onAnswer} />)}
        onNote={() => onAsk(<NoteDialog user={user} note={note ?? ""} onClose={onAnswer} />)}
      />
      {itemsFor(user).map(({ change: name, label, icon, danger, input }) => (
        <DropdownMenu.Item
          key={label}
          className={danger ? "menu-item menu-danger" : "menu-item"}
          onSelect={() =>
            void change(name, user, {
              input: { ...input, ifVersion: version ?? undefined },
              update: name === "block" ? unsuggest : undefined,
            })
          }
        >
          {icon}
          {label}
        </DropdownMenu.Item>
      ))}
    </>
  );
}
