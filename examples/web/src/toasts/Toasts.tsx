import { X } from "lucide-react";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { ToastContext, type ShowToast, type Toast } from "./ToastContext";
import "./toasts.css";

const SHOWN_MS = 8_000;
const SHOWN_MAX = 3;

let lastId = 0;

/** The toasts of the app, which screen readers announce. */
export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const show = useCallback<ShowToast>((toast) => {
    lastId += 1;
    const added: Toast = { tone: "info", ...toast, id: lastId };
    setToasts((shown) => [...shown, added].slice(-SHOWN_MAX));
  }, []);
  const dismiss = useCallback((id: number) => {
    setToasts((shown) => shown.filter((toast) => toast.id !== id));
  }, []);
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map((toast) => (
          <ToastView key={toast.id} toast={toast} onDismiss={dismiss} />
        ))}
      </div>
    </ToastContext>
  );
}

function ToastView({ toast, onDismiss }: { toast: Toast; onDismiss: (id: number) => void }) {
  const [paused, setPaused] = useState(false);
  useEffect(() => {
    if (paused) return;
    const timer = setTimeout(() => onDismiss(toast.id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [paused, onDismiss, toast.id]);
  return (
    <div
      className={`toast toast-${toast.tone}`}
      onMouseEnter={() => setPaused(true)}
      onMouseLeave={() => setPaused(false)}
      onFocus={() => setPaused(true)}
      onBlur={() => setPaused(false)}
    >
      <span>{toast.text}</span>
      {toast.action && (
        <button
          type="button"
          className="toast-action"
          onClick={() => {
            toast.action?.run();
            onDismiss(toast.id);
          }}
        >
          {toast.action.label}
        </button>
      )}
      <button type="button" className="icon-button" aria-label="Close this message" onClick={() => onDismiss(toast.id)}>
        <X size={16} />
      </button>
    </div>
  );
}
