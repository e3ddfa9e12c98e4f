import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { CatalogModel } from "../../../core/domain/catalog/catalog.js";
import type { ServedPart } from "../../../core/domain/served.js";
import { asyncApiDocument } from "../../../core/protocol/asyncapi.js";
import { openApiDocument } from "../../../core/protocol/openapi.js";
import { servedEndpoints } from "../../../core/protocol/served-endpoints.js";
import type { Exchange } from "../exchange.js";
import type { Route } from "../router.js";
import { documentLinks, documentRoutes } from "./documents.js";

const PACKAGE_FOLDER = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const ASSETS = [
  { name: "swagger-ui.css", contentType: "text/css; charset=utf-8" },
  { name: "swagger-ui-bundle.js", contentType: "text/javascript; charset=utf-8" },
  { name: "favicon-32x32.png", contentType: "image/png" },
] as const;

/** The page loads resources only from this service, and must not be framed. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const page = (models: readonly CatalogModel[]) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dauys API reference</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<nav aria-label="Documents" style="font:16px sans-serif;margin:1em 20px;display:flex;flex-wrap:wrap;gap:.25em 1em">
${documentLinks()}
</nav>
${modelNotes(models)}
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
});
`;

/** `/` redirects browsers to the console, and other clients to the reference. */
const CONSOLE_PATH = "/console";
const REFERENCE_PATH = "/docs";

interface References {
  readonly openApi: Uint8Array;
  readonly asyncApi: Uint8Array;
}

const cachedReferences = new Map<string, References>();

/** Builds the references once. That blocks for about 10 ms, so a service does it when it starts. */
export function references(serve: readonly ServedPart[]): References {
  const name = serve.join();
  const known = cachedReferences.get(name);
  if (known !== undefined) return known;
  const endpoints = servedEndpoints(serve);
  const references = {
    openApi: Buffer.from(JSON.stringify(openApiDocument(endpoints))),
    asyncApi: Buffer.from(JSON.stringify(asyncApiDocument(endpoints))),
  };
  cachedReferences.set(name, references);
  return references;
}

/** Routes of the machine-readable references, the page that shows one, the documents, and `/`. */
export function referenceRoutes(
  models: readonly CatalogModel[],
  serve: readonly ServedPart[],
): readonly Route[] {
  const html = Buffer.from(page(models));
  return [
    get("/", redirect),
    get("/openapi.json", (exchange) => send(exchange, "application/json", references(serve).openApi)),
    get("/asyncapi.json", (exchange) => send(exchange, "application/json", references(serve).asyncApi)),
    ...[REFERENCE_PATH, `${REFERENCE_PATH}/`].map((path) =>
      get(path, (exchange) =>
        send(exchange, "text/html; charset=utf-8", html, { "content-security-policy": POLICY }),
      ),
    ),
    ...documentRoutes(),
    get("/docs/start.js", (exchange) => send(exchange, "text/javascript; charset=utf-8", Buffer.from(START))),
    ...ASSETS.map(({ name, contentType }) =>
      get(`/docs/${name}`, async (exchange) =>
        send(exchange, contentType, await readFile(join(PACKAGE_FOLDER, name)), {
          "cache-control": "public, max-age=3600",
        }),
      ),
    ),
  ];
}

function modelNotes(models: readonly CatalogModel[]): string {
  const lines = models.flatMap(({ name, notes }) =>
    notes === null ? [] : [`<li><b>${escaped(name)}</b>: ${escaped(notes)}</li>`],
  );
  if (lines.length === 0) return "";
  return `<section aria-label="What the models cannot do" style="font:16px sans-serif;margin:1em 20px;max-width:60em">
<p>What the models of this service cannot do (weights of your own: <a href="/docs/models.md">models</a>):</p>
<ul>${lines.join("")}</ul>
</section>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function get(path: string, handle: (exchange: Exchange) => Promise<void>): Route {
  return { method: "GET", path, handle };
}

/** Browsers accept HTML explicitly; curl and similar tools accept anything. */
async function redirect(exchange: Exchange): Promise<void> {
  const isBrowser = /\btext\/html\b/i.test(exchange.request.header("accept") ?? "");
  exchange.start(302, {
    location: isBrowser ? CONSOLE_PATH : REFERENCE_PATH,
    vary: "accept",
    "cache-control": "no-cache",
  });
  await exchange.end();
}

async function send(
  exchange: Exchange,
  contentType: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  exchange.start(200, { "content-type": contentType, "x-content-type-options": "nosniff", ...headers });
  await exchange.end(body);
}
