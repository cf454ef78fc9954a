import { NotebookPen, Pin, PinOff, Tags } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { OwnDetailsQuery, PersonFragment } from "../gql/graphql";
import { useOwn } from "./useOwn";

interface OwnItemsProps {
  user: PersonFragment;
  /** Undefined while they are being read: until then, the items are disabled. */
  details: OwnDetailsQuery | undefined;
  onGroups: () => void;
  onNote: () => void;
}

/** The items of a person's menu that change what only the viewer sees. */
export function OwnItems({ user, details, onGroups, onNote }: OwnItemsProps) {
  const { setPinned } = useOwn();
  const pinned = details?.viewer?.pinnedFollowing ?? [];
  const others = pinned.filter(({ id }) => id !== user.id);
  const isPinned = others.length < pinned.length;
  const disabled = !details;
  return (
    <>
      {user.viewerRelation?.following && (
        <>
          <DropdownMenu.Item
            className="menu-item"
            disabled={disabled}
            onSelect={() => void setPinned(isPinned ? others : [user, ...others])}
          >
            {isPinned ? <PinOff /> : <Pin />}
            {isPinned ? "Unpin" : "Pin"}
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" disabled={disabled} onSelect={onGroups}>
            <Tags />
            Groups
          </DropdownMenu.Item>
        </>
      )}
      <DropdownMenu.Item className="menu-item" disabled={disabled} onSelect={onNote}>
        <NotebookPen />
        {details?.user?.viewerRelation?.note ? "Edit your note" : "Write a note"}
      </DropdownMenu.Item>
      <DropdownMenu.Separator className="menu-separator" />
    </>
  );
}
