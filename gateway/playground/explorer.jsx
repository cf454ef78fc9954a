// The explorer plugin, which builds queries by ticking fields.
import { explorerPlugin } from "@graphiql/plugin-explorer";
import { useEffect, useRef } from "react";

const plugin = explorerPlugin({ showAttribution: false });

// The plugin's inputs take the focus when they appear, which scrolls the pane to its end. Until a key
// or a pointer is pressed, the focus is moved back.
function Explorer() {
  const isUsed = useRef(false);
  useEffect(() => {
    const use = () => (isUsed.current = true);
    for (const event of ["keydown", "pointerdown"]) addEventListener(event, use, true);
    return () => {
      for (const event of ["keydown", "pointerdown"]) removeEventListener(event, use, true);
    };
  }, []);
  const moveFocusBack = ({ target, relatedTarget }) => {
    if (isUsed.current) return;
    if (relatedTarget) relatedTarget.focus();
    else target.blur();
    target.closest(".graphiql-plugin")?.scrollTo(0, 0);
  };
  return (
    <div onFocus={moveFocusBack}>
      <plugin.content />
    </div>
  );
}

export const EXPLORER_PLUGIN = { ...plugin, title: "Explorer", content: Explorer };
