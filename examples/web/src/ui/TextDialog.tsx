import { useState, type ReactNode } from "react";
import { Dialog } from "./Dialog";

interface TextDialogProps {
  title: string;
  hint: ReactNode;
  value: string;
  maxLength: number;
  required?: boolean;
  onSave: (text: string) => void;
  onClose: () => void;
}

/** Ask for one line of text. It begins with `value` each time it is mounted. */
export function TextDialog({ title, hint, value, maxLength, required = false, onSave, onClose }: TextDialogProps) {
  const [text, setText] = useState(value);
  return (
    <Dialog title={title} hint={hint} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSave(text.trim());
          onClose();
        }}
      >
        <input
          aria-label={title}
          value={text}
          maxLength={maxLength}
          required={required}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="dialog-actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button button-primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
