import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { z } from "zod";
import { asyncApiDocument } from "../../core/protocol/asyncapi.js";
import { COMPONENTS, type ComponentName } from "../../core/protocol/components.js";
import { isDeepgramPath } from "../../core/protocol/deepgram-errors.js";
import { ENDPOINTS } from "../../core/protocol/endpoints.js";
import { openApiDocument } from "../../core/protocol/openapi.js";
import { createRoutes } from "../../src/http/endpoints/all.js";
import type { RouteDeps } from "../../src/http/router.js";
import { FakeConversations, GOOD_KEY } from "./fake-conversations.js";
import { type RunningTransport, startTransport } from "./running-transport.js";
import {
  BILLED_HEADERS,
  BILLED_PARAMETER,
  BILLED_STATUSES,
  SOCKETS,
  SPECIFIED,
} from "./specified-endpoints.js";

interface Operation {
  readonly security?: readonly unknown[];
  readonly parameters: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: Record<string, unknown> };
  readonly responses: Record<
    string,
    { readonly headers?: object; readonly content?: Record<string, unknown> }
  >;
}

test("the document states the version of the API and of the service", () => {
  const { info } = openApiDocument() as { readonly info: Readonly<Record<string, string>> };
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
  assert.deepEqual([info["version"], info["x-service-version"]], ["1.0.0", version]);
  assert.match(info["description"] ?? "", /version 1\.0\.0 of the interface/);
  assert.ok(info["description"]?.includes(`version ${version} of the package`));
});

test("only our own schemas exclude additional names", () => {
  const { components } = openApiDocument() as {
    readonly components: { readonly schemas: Record<string, { readonly additionalProperties?: unknown }> };
  };
  assert.equal(components.schemas["SynthesisRequest"]?.additionalProperties, false);
  assert.equal(components.schemas["SpeechRequest"]?.additionalProperties, undefined);
});

const PATHS = openApiDocument()["paths"] as Record<string, Record<string, Operation>>;

const REFERENCE_PATHS = /^\/(|openapi\.json|asyncapi\.json|docs(\/.*)?)$/;

let running: RunningTransport;

before(async () => {
  running = await startTransport("node");
});
after(() => running.stop());

test("statuses that the specification lacks are listed where they can occur", () => {
  for (const { method, path, request, errors } of ENDPOINTS)
    assert.equal(errors.includes(408), request !== undefined, `${method} ${path} reads a body`);
  // These paths reject unknown names.
  for (const path of ["/v1/stream/token", "/v1/voices", "/v1/stream", "/v1/listen"])
    assert.ok(ENDPOINTS.find((endpoint) => endpoint.path === path)?.errors.includes(400), path);
  const { components } = openApiDocument() as {
    readonly components: { readonly responses: Record<string, { readonly description: string }> };
  };
  assert.match(components.responses["Error408"]?.description ?? "", /body_too_slow/);
  assert.match(components.responses["Error503"]?.description ?? "", /storage_full/);
});

test("router, reference and specification name the same endpoints", async () => {
  const named = Object.entries(PATHS).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(named.sort(), SPECIFIED.map(([method, path]) => `${method} ${path}`).sort());
  const routes = createRoutes({ conversations: new FakeConversations() } as unknown as RouteDeps);
  const routed = routes.filter(({ path }) => !REFERENCE_PATHS.test(path));
  for (const { method, path } of routed) {
    const documented = `${method} ${path.replace(/:(\w+)/g, "{$1}")}`;
    assert.ok(named.includes(documented), documented);
  }
  for (const [method, path] of SPECIFIED) {
    const answer = await fetch(running.base + path, { method: "OPTIONS" });
    assert.ok(answer.headers.get("allow")?.split(", ").includes(method), `${method} ${path}`);
  }
});

for (const [method, path, access, statuses, headers, parameters] of SPECIFIED) {
  test(`the reference of ${method} ${path} has every status, header and parameter of the specification`, async () => {
    const operation = PATHS[path]![method.toLowerCase()]!;
    for (const status of statuses) assert.ok(String(status) in operation.responses, `status ${status}`);
    const isBilled = parameters.includes(BILLED_PARAMETER);
    for (const status of BILLED_STATUSES)
      assert.equal(
        String(status) in operation.responses,
        isBilled || statuses.includes(status),
        `status ${status}`,
      );
    const [success] = Object.values(operation.responses);
    for (const header of [...headers, ...(isBilled ? BILLED_HEADERS : [])])
      assert.ok(header in (success?.headers ?? {}), header);
    assert.deepEqual(operation.parameters.map(({ name }) => name).sort(), [...parameters].sort());
    assert.equal(access, operation.security?.length === 0 ? "open" : "key");
    if (SOCKETS.includes(`${method} ${path}`)) return;
    const answer = await fetch(running.base + path, { method });
    assert.equal(
      answer.status === 401,
      access === "key",
      "asks for a key exactly when the reference says so",
    );
  });
}

test("the reference is a valid OpenAPI 3.1 document", async () => {
  const served = (await (await fetch(`${running.base}/openapi.json`)).json()) as Record<string, unknown>;
  assert.deepEqual(served, JSON.parse(JSON.stringify(openApiDocument())));
  const validator = new Validator();
  const { valid, errors } = await validator.validate(served);
  assert.ok(valid, JSON.stringify(errors));
  assert.equal(validator.version, "3.1");
  const names = Object.keys(COMPONENTS);
  for (const [, name] of JSON.stringify(served).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    assert.ok(names.includes(name!), name);
  }
});

test("responses have the members, content types and headers that the reference states", async () => {
  const headers = { authorization: `Bearer ${GOOD_KEY}` };
  const form = () => {
    const fields = new FormData();
    fields.set("file", new Blob(["x"]), "a.wav");
    fields.set("response_format", "verbose_json");
    fields.set("language", "kk");
    return fields;
  };
  const requests: Record<string, RequestInit> = {
    "/v1/tts": { body: JSON.stringify({ text: "Привет" }) },
    "/v1/tts/stream": { body: JSON.stringify({ text: "Привет" }) },
    "/v1/audio/speech": {
      body: JSON.stringify({ input: "Привет", response_format: "pcm", instructions: "x" }),
    },
    "/v1/transcribe": { body: "x" },
    "/v1/listen": { body: "x" },
    "/v1/jobs/transcriptions": { body: "x" },
    "/v1/speak": { body: JSON.stringify({ text: "Привет" }) },
    "/v1/realtime/client_secrets": { body: "{}" },
    "/v1/realtime/transcription_sessions": { body: "{}" },
    "/v1/audio/transcriptions": { body: form() },
    "/v1/vocabulary": { body: "{}" },
  };
  running.conversations.modelWaitMs = 1_500;
  for (const { method, path, status, answer, answerHeaders = [] } of ENDPOINTS) {
    if (status === 101) continue;
    // This query makes responses report ignored parameters.
    const query = isDeepgramPath(path) ? "?tag=x" : "";
    const given = await fetch(running.base + path + query, {
      ...{ method, headers },
      ...(method !== "GET" && requests[path]),
    });
    assert.equal(given.status, status, path);
    for (const name of answerHeaders) assert.notEqual(given.headers.get(name), null, `${path} ${name}`);
    const contentType = given.headers.get("content-type")!.split(";")[0]!;
    assert.ok(contentType in answer, `${path} ${contentType}`);
    const text = await given.text();
    const content = answer[contentType];
    const names = (Array.isArray(content) ? content : [content]) as ComponentName[];
    if (contentType === "application/json") strictly(names.at(-1)!).parse(JSON.parse(text));
  }
  const timed = await fetch(`${running.base}/v1/transcribe?timestamps=1`, {
    method: "POST",
    headers,
    body: "x",
  });
  const transcription = strictly("Transcription").parse(await timed.json()) as { words?: unknown[] };
  assert.equal(transcription.words?.length, 3);
});

test("the root path leads browsers to the console and other clients to the reference", async () => {
  const opened = async (method: string, headers: Record<string, string>) => {
    const answer = await fetch(running.base, { method, headers, redirect: "manual" });
    return [answer.status, answer.headers.get("location"), answer.headers.get("vary"), await answer.text()];
  };
  const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
  for (const method of ["GET", "HEAD"]) {
    assert.deepEqual(await opened(method, browser), [302, "/console", "accept", ""]);
    assert.deepEqual(await opened(method, { accept: "*/*" }), [302, "/docs", "accept", ""]);
    assert.deepEqual(await opened(method, { accept: "application/json" }), [302, "/docs", "accept", ""]);
  }
});

test("the reference page starts with the limits of the models", async () => {
  const html = await (await fetch(`${running.base}/docs`)).text();
  const line = "<b>svc-kk-v1</b>: Speaks &#60;Kazakh&#62; only. Other languages sound wrong.";
  assert.ok(html.includes(line) && html.indexOf(line) < html.indexOf("swagger-ui-bundle"), html);
  assert.ok(!html.includes("<b>svc-kk-ru-v2</b>"), "a model without notes says nothing");
});

test("the reference page is also served with a trailing slash", async () => {
  const [page, withSlash] = [await fetch(`${running.base}/docs`), await fetch(`${running.base}/docs/`)];
  assert.deepEqual([withSlash.status, await withSlash.text()], [200, await page.text()]);
});

test("every page of docs is linked on the reference page and served as written", async () => {
  const folder = new URL("../../../docs/", import.meta.url);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md"));
  const html = await (await fetch(`${running.base}/docs`)).text();
  const nav = html.slice(html.indexOf("<nav"), html.indexOf("</nav>"));
  const linked = [...nav.matchAll(/href="\/docs\/([^"]+\.md)"/g)].map((match) => match[1]!);
  assert.deepEqual(linked.toSorted(), names.toSorted());
  for (const name of names) {
    const answer = await fetch(`${running.base}/docs/${name}`);
    assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "text/plain; charset=utf-8"]);
    assert.equal(await answer.text(), await readFile(new URL(name, folder), "utf8"));
  }
});

test("browsers get the pages of docs as HTML with working links and without scripts", async () => {
  const page = await browse("/docs/api.md");
  assert.match(page, /<h2 id="endpoints">Endpoints<\/h2>/);
  assert.match(page, /<a href="\/docs\/api\.md" aria-current="page">/);
  const names = [...page.slice(page.indexOf("<nav"), page.indexOf("</nav>")).matchAll(/href="([^"]+)"/g)];
  const pages = names.map((match) => match[1]!).filter((path) => path.endsWith(".md"));
  assert.ok(pages.length > 8);
  const anchors = new Map<string, string>();
  for (const path of pages) anchors.set(path, await browse(path));
  const places = [...anchors.values()].flatMap((html) => [...html.matchAll(/(?:href|src)="([^"]+)"/g)]);
  for (const place of new Set(places.map((match) => match[1]!))) {
    if (/^(?:https?:|#)/.test(place)) continue;
    const [path = "", anchor] = place.split("#");
    assert.equal((await fetch(running.base + path)).status, 200, place);
    if (anchor !== undefined) assert.ok(anchors.get(path)?.includes(`id="${anchor}"`), place);
  }
  for (const html of anchors.values()) assert.doesNotMatch(html, /<script|style=|\[[^\]]+\]\([^)]+\)/);
});

test("plots are served as pictures without scripts", async () => {
  const answer = await fetch(`${running.base}/docs/pictures/finals.svg`);
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "image/svg+xml"]);
  assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none';.* sandbox$/);
  for (const path of ["pictures/none.svg", "pictures/..%2Fconsole.png", "pictures/"])
    assert.equal((await fetch(`${running.base}/docs/${path}`)).status, 404, path);
});

test("only the examples in the folder are served, as text", async () => {
  const text = await (await fetch(`${running.base}/docs/examples/live.mjs`)).text();
  assert.equal(text, await readFile(new URL("../../../docs/examples/live.mjs", import.meta.url), "utf8"));
  for (const path of ["examples/none.mjs", "examples/..%2F..%2Fpackage.json", "examples/", "../package.json"])
    assert.equal((await fetch(`${running.base}/docs/${path}`)).status, 404, path);
});

async function browse(path: string): Promise<string> {
  const answer = await fetch(running.base + path, { headers: { accept: "text/html,*/*;q=0.8" } });
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
  assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'; style-src 'self';/);
  return answer.text();
}

test("the reference page loads resources only from this service", async () => {
  const page = await fetch(`${running.base}/docs`);
  assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'; script-src 'self';/);
  const html = await page.text();
  const assets = [...html.matchAll(/<(?:link|script)[^>]* (?:href|src)="([^"]+)"/g)].map(
    (match) => match[1]!,
  );
  assert.equal(assets.length, 4);
  for (const asset of assets) {
    assert.match(asset, /^\/docs\//);
    const answer = await fetch(running.base + asset);
    assert.equal(answer.status, 200, asset);
    assert.ok((await answer.arrayBuffer()).byteLength > 100, asset);
  }
});

test("the live protocol is described as AsyncAPI", async () => {
  const answer = await fetch(`${running.base}/asyncapi.json`);
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.deepEqual(await answer.json(), JSON.parse(JSON.stringify(asyncApiDocument())));
});

/** Makes the schema of a component reject additional names. */
function strictly(name: ComponentName): z.ZodType {
  const schema = COMPONENTS[name];
  return schema instanceof z.ZodObject ? schema.strict() : schema;
}
