import { defineConfig } from "vite";

export default defineConfig({
  base: "/console/",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../../dist/console",
    emptyOutDir: true,
    target: "es2022",
    // The pages' policy forbids data: addresses, and the preload helper is inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: "es" },
});
