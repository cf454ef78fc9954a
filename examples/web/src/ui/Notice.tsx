import type { ReactNode } from "react";

interface NoticeProps {
  icon: ReactNode;
  title: string;
  children?: ReactNode;
}

/** The text in place of an empty list, with the reason. */
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
