import { Navigate, Route, Routes } from "react-router";
import { Shell } from "./layout/Shell";
import { LiveEvents } from "./live/LiveEvents";
import { BlockedPage } from "./pages/BlockedPage";
import { FollowersPage } from "./pages/FollowersPage";
import { FollowingPage } from "./pages/FollowingPage";
import { FriendsPage } from "./pages/FriendsPage";
import { MutedPage } from "./pages/MutedPage";
import { NotFoundPage } from "./pages/NotFoundPage";
import { OverviewPage } from "./pages/OverviewPage";
import { PeoplePage } from "./pages/PeoplePage";
import { PrivacyPage } from "./pages/PrivacyPage";
import { ProfilePage } from "./pages/ProfilePage";
import { ReceivedRequestsPage } from "./pages/ReceivedRequestsPage";
import { RequestsPage } from "./pages/RequestsPage";
import { SentRequestsPage } from "./pages/SentRequestsPage";
import { SettingsPage } from "./pages/SettingsPage";
import { useSession } from "./session/SessionContext";

export function App() {
  const { userId } = useSession();
  return (
    <LiveEvents>
      <Routes>
        <Route element={<Shell />}>
          <Route index element={<Navigate to={`/u/${userId}`} replace />} />
          <Route path="u/:id" element={<ProfilePage />}>
            <Route index element={<OverviewPage />} />
            <Route path="followers" element={<FollowersPage />} />
            <Route path="following" element={<FollowingPage />} />
            <Route path="friends" element={<FriendsPage />} />
          </Route>
          <Route path="people" element={<PeoplePage />} />
          <Route path="requests" element={<RequestsPage />}>
            <Route index element={<ReceivedRequestsPage />} />
            <Route path="sent" element={<SentRequestsPage />} />
          </Route>
          <Route path="settings" element={<SettingsPage />}>
            <Route index element={<PrivacyPage />} />
            <Route path="blocked" element={<BlockedPage />} />
            <Route path="muted" element={<MutedPage />} />
          </Route>
          <Route path="*" element={<NotFoundPage />} />
        </Route>
      </Routes>
    </LiveEvents>
  );
}
