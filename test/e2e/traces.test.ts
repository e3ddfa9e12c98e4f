import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { before, describe, test } from "node:test";
import WebSocket from "ws";
import { joined, silence, tone, wavOf } from "../support/audio.js";
import { lightModels } from "../support/light-models.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/** A span as OTLP writes it in JSON. */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly events?: readonly { readonly name: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpSpan["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const CALLER = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const UNSAMPLED = `00-${"1".repeat(32)}-${"2".repeat(16)}-00`;
const WAV = wavOf(joined(silence(0.3), tone(0.6, [400, 900]), silence(0.6)), 16_000, 1);
const SECRET_TEXT = "Сәлем, құпия сөз.";

/** All spans that the service sent, received by a real collector on 127.0.0.1. */
let spans: readonly OtlpSpan[] = [];
let bodies: readonly string[] = [];

before(async () => {
  const received: string[] = [];
  const receiver = await startReceiver(received);
  const { port } = receiver.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}/`;
  const service = await startServiceProcess({
    ...(await lightModels()),
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test",
  });
  try {
    await speak(service);
    await transcribe(service);
    await listen(service);
    await refused(service);
    await fetch(`${service.url}/health`);
  } finally {
    // The service sends the last spans before it ends.
    assert.equal(await service.stop(), 0, service.output());
    receiver.close();
  }
  bodies = received;
  spans = received.flatMap((body) =>
    (JSON.parse(body) as OtlpBody).resourceSpans.flatMap((resource) =>
      resource.scopeSpans.flatMap((scope) => scope.spans),
    ),
  );
});

async function startReceiver(received: string[]): Promise<Server> {
  const receiver = createServer(async (request, response) => {
    assert.equal(`${request.method} ${request.url}`, "POST /v1/traces");
    assert.equal(request.headers["content-type"], "application/json");
    received.push(await text(request));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  return receiver;
}

async function speak({ url, key }: ServiceProcess): Promise<void> {
  const ask = (traceparent: string) =>
    fetch(`${url}/v1/tts`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", traceparent },
      body: JSON.stringify({ text: SECRET_TEXT, nfe: 4 }),
    });
  const answer = await ask(TRACEPARENT);
  assert.equal(answer.status, 200);
  await answer.arrayBuffer();
  await (await ask(UNSAMPLED)).arrayBuffer();
}

async function transcribe({ url, key }: ServiceProcess): Promise<void> {
  const answer = await fetch(`${url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" },
    body: WAV,
  });
  assert.equal(answer.status, 200, await answer.text());
}

async function listen({ url, key }: ServiceProcess): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/stream?eou_ms=200`, { headers });
  await once(socket, "open");
  const closed = once(socket, "close");
  // The samples of the file, without the header.
  socket.send(WAV.subarray(44));
  socket.send(JSON.stringify({ type: "finalize" }));
  socket.send(JSON.stringify({ type: "close" }));
  await closed;
}

async function refused({ url }: ServiceProcess): Promise<void> {
  const answer = await fetch(`${url}/v1/tts`, { method: "POST", body: "{}" });
  assert.equal(answer.status, 401);
  await answer.text();
}

/** The trace of one request: its root span, and the spans below it by path. */
function traceOf(name: string, isIt: (root: OtlpSpan) => boolean = () => true) {
  const roots = spans.filter((span) => span.name === name && isIt(span));
  assert.equal(roots.length, 1, `${roots.length} spans ${name}`);
  const root = roots[0]!;
  const own = spans.filter(({ traceId }) => traceId === root.traceId);
  const byId = new Map(own.map((span) => [span.spanId, span]));
  const wayTo = (span: OtlpSpan): string =>
    span === root ? "" : `${wayTo(byId.get(span.parentSpanId ?? "")!)}/${span.name}`;
  return { root, own, ways: own.filter((span) => span !== root).map(wayTo) };
}

function assertInside(own: readonly OtlpSpan[]): void {
  const byId = new Map(own.map((span) => [span.spanId, span]));
  for (const span of own) {
    const parent = byId.get(span.parentSpanId ?? "");
    if (parent === undefined) continue;
    assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano), span.name);
    assert.ok(
      BigInt(parent.startTimeUnixNano) <= BigInt(span.startTimeUnixNano),
      `${parent.name}, ${span.name}`,
    );
  }
}

const attribute = ({ attributes }: OtlpSpan, key: string) =>
  Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0];
const isServed = (status: number) => (root: OtlpSpan) =>
  Number(attribute(root, "http.response.status_code")) === status;

describe("traces over OTLP", () => {
  test("a synthesis is one trace within its caller's trace, from admission to the worker's run", () => {
    const { root, own, ways } = traceOf("POST /v1/tts", isServed(200));
    assert.deepEqual([root.traceId, root.parentSpanId], [CALLER.traceId, CALLER.spanId]);
    assert.deepEqual(ways.toSorted(), [
      "/admission",
      "/hold",
      "/piece",
      "/piece/queue wait",
      "/piece/worker run",
    ]);
    const run = own.find(({ name }) => name === "worker run")!;
    assert.deepEqual(
      run.events?.map(({ name }) => name),
      ["first samples"],
    );
    assert.deepEqual(
      root.events?.map(({ name }) => name),
      ["first audio"],
    );
    assert.match(String(attribute(root, "dauys.request_id")), /^req_/);
    assertInside(own);
  });

  test("a file is one trace, with a span for each task's run", () => {
    const { root, own, ways } = traceOf("POST /v1/transcribe");
    assert.equal(root.parentSpanId ?? "", "");
    const tasks = own.filter(({ name }) => name === "worker run").map((span) => attribute(span, "task"));
    assert.ok(tasks.includes("hear"), tasks.join(", "));
    assert.deepEqual([...new Set(ways)].toSorted(), [
      "/admission",
      "/file",
      "/file/queue wait",
      "/file/worker run",
      "/hold",
    ]);
    assertInside(own);
  });

  test("a live session is one trace, until its socket ends", () => {
    const { root, own, ways } = traceOf("GET /v1/stream");
    for (const way of ["/admission", "/hold", "/queue wait"]) assert.ok(ways.includes(way), ways.join(", "));
    assert.deepEqual(
      root.events?.map(({ name }) => name),
      ["first audio", "joined a worker"],
    );
    assert.equal(Number(attribute(root, "dauys.close_code")), 1000);
    assertInside(own);
  });

  test("the trace of a rejected request contains the reason", () => {
    const { root, ways } = traceOf("POST /v1/tts", isServed(401));
    assert.deepEqual(root.status, { code: 2, message: "key_invalid" });
    assert.deepEqual(ways, ["/admission"]);
  });

  test("probes and traces that the caller does not sample are not sent", () => {
    assert.equal(spans.filter(({ traceId }) => traceId === "1".repeat(32)).length, 0);
    const roots = new Set(spans.filter(({ name }) => name.includes(" /")).map(({ name }) => name));
    assert.deepEqual([...roots].toSorted(), ["GET /v1/stream", "POST /v1/transcribe", "POST /v1/tts"]);
  });

  test("traces identify the service but contain no text, key or organization", () => {
    const told = bodies.join("\n");
    for (const secret of ["құпия", "sk-svc-", "org_"]) assert.ok(!told.includes(secret), secret);
    const [{ resource }] = (JSON.parse(bodies[0]!) as OtlpBody).resourceSpans as [
      OtlpBody["resourceSpans"][0],
    ];
    const names = resource.attributes.map(({ key }) => key);
    for (const name of ["service.name", "service.version", "service.instance.id", "deployment.environment"])
      assert.ok(names.includes(name), names.join(", "));
  });
});

test("loads no package of OpenTelemetry without an endpoint", async () => {
  const { openTraces } = await import("../../core/observe/traces.js");
  const { SILENT } = await import("../support/silent-log.js");
  const loadedBefore = loaded();
  const traces = await openTraces({ endpoint: null, version: "0", instance: "svc", log: SILENT });
  const span = traces.tracer.begin("GET /v1/voices", TRACEPARENT);
  assert.deepEqual([span.isTraced, span.traceparent, span.child("part")], [false, null, span]);
  await traces.close();
  assert.deepEqual(loaded(), loadedBefore);
  assert.deepEqual(loadedBefore, []);
});

/** The OpenTelemetry packages that this process has loaded. They are CommonJS modules. */
function loaded(): readonly string[] {
  return Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes("@opentelemetry"));
}
