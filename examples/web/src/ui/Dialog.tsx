import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import "./dialog.css";

interface DialogProps {
  title: string;
  hint: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/** A question above the page. Mount it to open it. */
export function Dialog({ title, hint, onClose, children }: DialogProps) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="dialog-overlay" />
        <Radix.Content className="dialog">
          <Radix.Title>{title}</Radix.Title>
          <Radix.Description className="hint">{hint}</Radix.Description>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
