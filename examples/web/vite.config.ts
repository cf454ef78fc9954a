import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const port = Number(process.env["WEB_PORT"] ?? 5173);
const served = { host: "127.0.0.1", port, strictPort: true };

export default defineConfig({
  plugins: [react()],
  build: { outDir: process.env["WEB_OUT"] ?? "dist", emptyOutDir: true, chunkSizeWarningLimit: 900 },
  server: served,
  preview: served,
});
