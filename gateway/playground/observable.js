// A value outside React that components subscribe to.
import { useSyncExternalStore } from "react";

export function observable(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useObservable(source) {
  return useSyncExternalStore(source.subscribe, source.get);
}
