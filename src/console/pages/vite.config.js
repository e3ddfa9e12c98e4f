import { defineConfig } from "vite";

export default defineConfig({
  base: "/console/",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../../dist/console",
    emptyOutDir: true,
    target: "es2022",
    // The content security policy forbids `data:` URLs, and inline scripts such as Vite's preload helper.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: "es" },
});
