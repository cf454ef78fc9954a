import type { ReactNode } from "react";
import { NavLink } from "react-router";

export interface Tab {
  to: string;
  label: ReactNode;
}

/** Links between the parts of a page. */
export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ to, label: name }) => (
        <NavLink key={to} to={to} end className="tab" preventScrollReset>
          {name}
        </NavLink>
      ))}
    </nav>
  );
}
