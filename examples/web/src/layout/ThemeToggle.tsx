import { Monitor, Moon, Sun } from "lucide-react";
import { useState } from "react";

type Theme = "system" | "light" | "dark";

const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };

const storedTheme = (): Theme => {
  const stored = localStorage.getItem("theme");
  return stored === "light" || stored === "dark" ? stored : "system";
};

/** Follow the system, dark, or light. */
export function ThemeToggle() {
  const [theme, setTheme] = useState(storedTheme);
  const Icon = ICONS[theme];
  function toggle() {
    const next = NEXT[theme];
    setTheme(next);
    if (next === "system") {
      localStorage.removeItem("theme");
      delete document.documentElement.dataset["theme"];
    } else {
      localStorage.setItem("theme", next);
      document.documentElement.dataset["theme"] = next;
    }
  }
  return (
    <button type="button" className="icon-button" aria-label={`Theme: ${theme}. Change it`} onClick={toggle}>
      <Icon size={20} />
    </button>
  );
}
