import { readFile } from "node:fs/promises";
import type { Route } from "../route.js";

/** From `dist/src/http/endpoints` to the repository's pages for readers. */
const FOLDER = new URL("../../../../docs/", import.meta.url);

/** Pages for readers, and what the reference page calls them. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  "api.md": "HTTP API",
  "live-protocol.md": "Live protocol",
  "written-text.md": "Written text",
  "client.md": "Client library and player",
  "console.md": "Console and commands",
  "models.md": "Models",
  "operations.md": "Operations",
  "security.md": "Security",
  "benchmarks.md": "Benchmarks",
};

/** The pages of `docs/` beside the reference, as they are written: Markdown reads well as plain text. */
export function documentRoutes(): readonly Route[] {
  return Object.keys(DOCUMENTS).map((name) => ({
    method: "GET",
    path: `/docs/${name}`,
    handle: async (exchange) => {
      const text = await readFile(new URL(name, FOLDER));
      exchange.start(200, {
        // Browsers show plain text, and offer Markdown as a download.
        "content-type": "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
      });
      await exchange.end(text);
    },
  }));
}

/** Links to the pages, for the reference page. */
export function documentLinks(): string {
  const links = Object.entries(DOCUMENTS).map(([name, title]) => `<a href="/docs/${name}">${title}</a>`);
  return `<nav aria-label="Documents" style="font:16px sans-serif;margin:1em 20px">${links.join(" · ")}</nav>`;
}
