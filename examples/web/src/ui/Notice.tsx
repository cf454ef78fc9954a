import type { ReactNode } from "react";

interface NoticeProps {
  icon: ReactNode;
  title: string;
  children?: ReactNode;
}

/** What a list shows when it has nothing to show, and why. */
export function Notice({ icon, title, children }: NoticeProps) {
  return (
    <div className="notice">
      <span className="notice-icon" aria-hidden="true">
        {icon}
      </span>
      <p className="notice-title">{title}</p>
      {children && <div className="notice-text">{children}</div>}
    </div>
  );
}
