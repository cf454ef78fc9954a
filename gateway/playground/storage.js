// The browser's storage of this page. A new version of the examples deletes what older ones stored.

export function storageOf(version) {
  const prefix = `kith:${version}:`;
  const ours = () => Object.keys(localStorage).filter((key) => key.startsWith("kith:"));
  for (const key of ours()) {
    if (!key.startsWith(prefix)) localStorage.removeItem(key);
  }
  return {
    getItem: (key) => localStorage.getItem(prefix + key),
    setItem: (key, value) => localStorage.setItem(prefix + key, value),
    removeItem: (key) => localStorage.removeItem(prefix + key),
    clear: () => ours().forEach((key) => localStorage.removeItem(key)),
    get length() {
      return ours().length;
    },
  };
}
