import { useEffect, useRef, type ReactNode } from "react";
import { NavLink, useLocation } from "react-router";

export interface Tab {
  to: string;
  label: ReactNode;
}

/** Links between the parts of a page. If they do not fit, they scroll, and fade at the end that hides more. */
export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const nav = useRef<HTMLElement>(null);
  const { pathname } = useLocation();

  useEffect(() => {
    const shown = nav.current;
    if (!shown) return;
    const mark = () => {
      const left = shown.scrollWidth - shown.clientWidth - shown.scrollLeft;
      shown.dataset["more"] = `${shown.scrollLeft > 1 ? "before" : ""} ${left > 1 ? "after" : ""}`.trim();
    };
    const sizes = new ResizeObserver(mark);
    // The tabs too: a count that arrives makes its tab wider, and not the row.
    for (const element of [shown, ...shown.children]) sizes.observe(element);
    shown.addEventListener("scroll", mark, { passive: true });
    return () => {
      sizes.disconnect();
      shown.removeEventListener("scroll", mark);
    };
  }, [tabs.length]);

  useEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>("[aria-current]");
    if (nav.current && current) nav.current.scrollLeft = current.offsetLeft - nav.current.offsetLeft - FADE_PX;
  }, [pathname]);

  return (
    <nav ref={nav} className="tabs" aria-label={label}>
      {tabs.map(({ to, label: name }) => (
        <NavLink key={to} to={to} end className="tab" preventScrollReset>
          {name}
        </NavLink>
      ))}
    </nav>
  );
}

/** Scroll the current tab out of the faded part: see `.tabs` in controls.css. */
const FADE_PX = 48;
