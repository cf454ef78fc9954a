import type { PersonFragment } from "../gql/graphql";
import { TextDialog } from "../ui/TextDialog";
import { useOwn } from "./useOwn";

/** The longest note that Kith accepts, in characters. */
const NOTE_MAX = 200;

interface NoteDialogProps {
  user: PersonFragment;
  note: string;
  onClose: () => void;
}

export function NoteDialog({ user, note, onClose }: NoteDialogProps) {
  const { setNote } = useOwn();
  return (
    <TextDialog
      title={`Your note about ${user.displayName}`}
      hint="Only you see it. Save an empty text to delete it."
      value={note}
      maxLength={NOTE_MAX}
      onSave={(text) => void setNote(user, text)}
      onClose={onClose}
    />
  );
}
