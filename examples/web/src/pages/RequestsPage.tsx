import { Outlet } from "react-router";
import { Tabs } from "../ui/Tabs";

export function RequestsPage() {
  return (
    <>
      <title>Requests · Kindred</title>
      <h1>Follow requests</h1>
      <Tabs
        label="Requests"
        tabs={[
          { to: "/requests", label: "Received" },
          { to: "/requests/sent", label: "Sent" },
        ]}
      />
      <Outlet />
    </>
  );
}
