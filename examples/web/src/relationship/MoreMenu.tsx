import type { ApolloCache } from "@apollo/client";
import { Ban, Bell, BellOff, Ellipsis, Eye, EyeOff, Star, UserMinus } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import type { PersonFragment } from "../gql/graphql";
import type { ChangeName } from "./changes";
import { withoutSuggestion } from "../people/suggestions";
import { useChange } from "./useChange";
import "./menu.css";

interface Item {
  change: ChangeName;
  label: string;
  icon: ReactNode;
  danger?: boolean;
  input?: { visibility?: "WHISPER" | "PUBLIC"; closeFollow?: boolean };
}

function itemsFor({ viewerRelation: relation, viewerFollowEligibility: { code } }: PersonFragment): Item[] {
  if (!relation) return [];
  const items: Item[] = [];
  if (code === "ALLOWED" && !relation.following) {
    items.push({ change: "follow", label: "Follow quietly", icon: <EyeOff />, input: { visibility: "WHISPER" } });
  }
  if (relation.following) {
    const { closeFollow, whispering } = relation;
    items.push(
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

/** Everything else that one can do about a person. */
export function MoreMenu({ user }: { user: PersonFragment }) {
  const change = useChange();
  const unsuggest = (cache: ApolloCache) => withoutSuggestion(cache, user.id);
  if (user.viewerRelation?.state === "SELF") return null;
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className="icon-button" aria-label={`More about ${user.displayName}`}>
        <Ellipsis size={20} />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={6} collisionPadding={12}>
          {itemsFor(user).map(({ change: name, label, icon, danger, input }) => (
            <DropdownMenu.Item
              key={label}
              className={danger ? "menu-item menu-danger" : "menu-item"}
              onSelect={() => void change(name, user, { input, update: name === "block" ? unsuggest : undefined })}
            >
              {icon}
              {label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
