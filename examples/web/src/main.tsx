import "@fontsource-variable/figtree";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { App } from "./App";
import { SessionGate } from "./session/SessionGate";
import { Toasts } from "./toasts/Toasts";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <BrowserRouter>
      <SessionGate>
        <Toasts>
          <App />
        </Toasts>
      </SessionGate>
    </BrowserRouter>
  </StrictMode>,
);
