import { useEffect, useRef } from "react";
import { Outlet, useLocation } from "react-router";
import { AccountMenu } from "./AccountMenu";
import { Aside } from "./Aside";
import { ConnectionBanner } from "./ConnectionBanner";
import { Navigation } from "./Navigation";
import { ThemeToggle } from "./ThemeToggle";
import "./layout.css";

/** The frame around every page: navigation at the side, or at the bottom of a phone. */
export function Shell() {
  const main = useFocusOnNavigation();
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="sidebar">
        <span className="brand">
          <img src="/icon.svg" alt="" width="28" height="28" /> Kindred
        </span>
        <Navigation />
        <div className="sidebar-end">
          <AccountMenu />
          <ThemeToggle />
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <ConnectionBanner />
        <Outlet />
      </main>
      <Aside />
    </div>
  );
}

/** Move the focus to the new page, as a browser does that loads one. */
function useFocusOnNavigation() {
  const main = useRef<HTMLElement>(null);
  const page = useLocation().pathname.split("/").slice(0, 3).join("/");
  const shown = useRef(page);
  useEffect(() => {
    if (shown.current === page) return;
    shown.current = page;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [page]);
  return main;
}
