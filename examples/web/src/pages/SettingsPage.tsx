import { Outlet } from "react-router";
import { Tabs } from "../ui/Tabs";

export function SettingsPage() {
  return (
    <>
      <title>Settings · Kindred</title>
      <h1>Settings</h1>
      <Tabs
        label="Settings"
        tabs={[
          { to: "/settings", label: "Privacy" },
          { to: "/settings/blocked", label: "Blocked" },
          { to: "/settings/muted", label: "Muted" },
        ]}
      />
      <Outlet />
    </>
  );
}
