import { createContext, useContext } from "react";

export interface Toast {
  id: number;
  text: string;
  tone: "info" | "error";
  action?: { label: string; run: () => void };
}

export type ShowToast = (toast: Omit<Toast, "id" | "tone"> & { tone?: Toast["tone"] }) => void;

export const ToastContext = createContext<ShowToast>(() => undefined);

/** Show a sentence at the bottom of the window for some seconds. */
export const useToast = () => useContext(ToastContext);
