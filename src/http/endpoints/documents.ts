import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Exchange } from "../exchange.js";
import { noSuchEndpoint, type Route } from "../router.js";

/** Folder of the Markdown pages, relative to `dist/src/http/endpoints`. */
const FOLDER = new URL("../../../../docs/", import.meta.url);
/** Folder of the same pages as HTML, rendered by `scripts/build-docs.mjs`. */
const RENDERED = new URL("../../../docs/", import.meta.url);

/** Pages and their titles. @public Used by the script that renders them. */
export const DOCUMENTS: Readonly<Record<string, string>> = {
  "api.md": "HTTP API",
  "api-speech.md": "Speech",
  "speech-live.md": "Live speech",
  "api-transcription.md": "Transcription",
  "jobs.md": "Jobs",
  "api-account.md": "Account and prices",
  "api-errors.md": "Errors and limits",
  "live-protocol.md": "Live protocol",
  "api-deepgram.md": "Deepgram's interface",
  "channels.md": "Channels as speakers",
  "readable-text.md": "Readable text",
  "speakers.md": "Speakers",
  "realtime.md": "OpenAI's realtime transcription",
  "agents.md": "Voice agents",
  "written-text.md": "Written text",
  "client.md": "Client library and player",
  "conformance.md": "Conformance",
  "console.md": "Console and commands",
  "models.md": "Models",
  "model-costs.md": "What models cost",
  "operations.md": "Operations",
  "install.md": "Install and run",
  "settings.md": "Settings",
  "sizing.md": "Sizing and workers",
  "tuning.md": "Measuring and tuning",
  "monitoring.md": "Monitoring",
  "storage.md": "Storage and backup",
  "gpus.md": "GPUs",
  "deployment.md": "Deployment",
  "fleet.md": "Several machines",
  "runtimes.md": "Runtimes",
  "security.md": "Security",
  "benchmarks.md": "Benchmarks",
};
const STYLE = "page.css";
const PICTURE = "console.png";
const DRAWING = /^pictures\/[a-z-]+\.svg$/;
const EXAMPLE = /^examples\/[a-z_-]+\.(?:md|mjs|sh|py|html)$/;
/** Pages load only styles and pictures, and run no scripts. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/** Drawings contain their own styles, for light and dark pages. */
const DRAWING_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
const PLAIN = "text/plain; charset=utf-8";

/** Serves the pages of `docs/`: HTML to browsers, which accept it explicitly, and Markdown to all others. */
export function documentRoutes(): readonly Route[] {
  return [
    ...Object.keys(DOCUMENTS).map((name) =>
      get(name, async (exchange) => {
        const isBrowser = /\btext\/html\b/i.test(exchange.request.header("accept") ?? "");
        const page = isBrowser ? await readFile(new URL(rendered(name), RENDERED)).catch(() => null) : null;
        if (page !== null) return send(exchange, "text/html; charset=utf-8", page);
        return send(exchange, PLAIN, await read(name));
      }),
    ),
    get(STYLE, async (exchange) => send(exchange, "text/css; charset=utf-8", await read(STYLE))),
    get(PICTURE, async (exchange) => send(exchange, "image/png", await read(PICTURE))),
    get("pictures/:name", async (exchange, { name = "" }) => {
      const path = `pictures/${name}`;
      if (!DRAWING.test(path)) throw noSuchPage(path);
      return send(exchange, "image/svg+xml", await read(path), DRAWING_POLICY);
    }),
    get("examples/:name", async (exchange, { name = "" }) => {
      const path = `examples/${name}`;
      if (!EXAMPLE.test(path)) throw noSuchPage(path);
      return send(exchange, PLAIN, await read(path));
    }),
  ];
}

export function documentLinks(): string {
  return Object.entries(DOCUMENTS)
    .map(([name, title]) => `<a href="/docs/${name}">${title}</a>`)
    .join(" ");
}

/** Returns whether a path below `docs/` is served. @public Used by the script that renders the pages. */
export function isServed(path: string): boolean {
  const isFile = EXAMPLE.test(path) || DRAWING.test(path);
  return path in DOCUMENTS || path === PICTURE || (isFile && existsSync(new URL(path, FOLDER)));
}

/** @throws {ServiceError} `NOT_FOUND` for a file that is missing from the installation */
async function read(path: string): Promise<Buffer> {
  return readFile(new URL(path, FOLDER)).catch(() => {
    throw noSuchPage(path);
  });
}

function noSuchPage(path: string): ServiceError {
  return new ServiceError("NOT_FOUND", noSuchEndpoint("GET", `/docs/${path}`));
}

function rendered(name: string): string {
  return name.replace(/\.md$/, ".html");
}

function get(path: string, handle: Route["handle"]): Route {
  return { method: "GET", path: `/docs/${path}`, handle };
}

async function send(
  exchange: Exchange,
  contentType: string,
  body: Uint8Array,
  policy = POLICY,
): Promise<void> {
  exchange.start(200, {
    "content-type": contentType,
    "content-security-policy": policy,
    "x-content-type-options": "nosniff",
    vary: "accept",
  });
  await exchange.end(body);
}
