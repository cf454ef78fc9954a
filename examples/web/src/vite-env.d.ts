/// <reference types="vite/client" />

interface ImportMetaEnv {
  readonly VITE_ROUTER_URL?: string;
  readonly VITE_KITH_WS_URL?: string;
  readonly VITE_PROFILES_URL?: string;
}
