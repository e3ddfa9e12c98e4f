import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createLog } from "../../core/observe/log.js";
import { Metrics } from "../../core/observe/metrics.js";
import { type OperatorServer, startOperatorServer } from "../../src/http/operator-server.js";
import { eventually } from "../support/eventually.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { type RunningTransport, startTransport } from "./running-transport.js";

const HEADERS = { authorization: `Bearer ${GOOD_KEY}` };

let running: RunningTransport;
let operator: OperatorServer;

before(async () => {
  const metrics = new Metrics({ withProcess: false });
  running = await startTransport("node", { metrics });
  const log = createLog({ level: "silent" });
  operator = await startOperatorServer({
    ...{ host: "127.0.0.1", port: 0, metrics, engines: () => [], log },
    demand: async () => ({
      live: { wanted: 3, late_seconds: 1.5 },
      synthesis: { wanted: 2 },
      transcription: { wanted: 0 },
    }),
  });
});
after(async () => {
  await operator.close();
  await running.stop();
});

const post = async (path: string, body: string) => {
  const answer = await fetch(running.base + path, { method: "POST", headers: HEADERS, body });
  await answer.arrayBuffer();
};
const scrape = async () => (await fetch(`http://127.0.0.1:${operator.port}/metrics`)).text();

test("an autoscaler can read the amount of waiting and running work", async () => {
  const answer = await fetch(`http://127.0.0.1:${operator.port}/demand`);
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.deepEqual(await answer.json(), {
    ...{ live: { wanted: 3, late_seconds: 1.5 }, synthesis: { wanted: 2 }, transcription: { wanted: 0 } },
  });
});

test("requests and errors are counted with their units", async () => {
  await post("/v1/tts", '{"text":"one.two"}');
  await post("/v1/tts", "{}");
  await fetch(`${running.base}/made-up-by-${GOOD_KEY}`);
  await fetch(`${running.base}/health`, { method: "PATCH" });
  const text = await scrape();
  for (const line of [
    'http_requests_total{method="POST",route="/v1/tts",status="200"} 1',
    'http_requests_total{method="POST",route="/v1/tts",status="400"} 1',
    'http_requests_total{method="other",route="other",status="404"} 1',
    'http_requests_total{method="other",route="other",status="405"} 1',
    'http_request_ms_count{route="/v1/tts"} 2',
    'errors_total{code="text_required"} 1',
    'errors_total{code="not_found"} 1',
  ]) {
    assert.ok(text.split("\n").includes(line), `${line} in ${text}`);
  }
});

test("loads of models are counted and timed by engine and model", async () => {
  const metrics = new Metrics({ withProcess: false });
  const model = metrics.observeModel("live", "m");
  assert.match(await metrics.text(), /^model_loaded\{engine="live",model="m"\} 0$/m);
  model.loadFailed();
  model.loaded(1_500);
  const loaded = await metrics.text();
  for (const line of [
    'model_loads_total{engine="live",model="m",outcome="failed"} 1',
    'model_loads_total{engine="live",model="m",outcome="loaded"} 1',
    'model_load_seconds_sum{engine="live",model="m"} 1.5',
    'model_loaded{engine="live",model="m"} 1',
  ]) {
    assert.ok(loaded.split("\n").includes(line), `${line} in ${loaded}`);
  }
  model.released();
  assert.match(await metrics.text(), /^model_loaded\{engine="live",model="m"\} 0$/m);
});

test("the reported delay of the main thread excludes the timer's own interval", async () => {
  const metrics = new Metrics({ withProcess: true });
  const shown = async (quantile: string) => {
    const text = await metrics.text();
    assert.ok(!text.includes("nodejs_eventloop_lag"), text);
    return Number(
      new RegExp(`^event_loop_delay_ms\\{quantile="${quantile}"\\} (\\S+)$`, "m").exec(text)?.[1],
    );
  };
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  // Every other call reads instead of blocking: the delay lies between two ticks, and there is none before
  // the first tick after a read.
  let look = 0;
  await eventually("a delay is seen", async () => {
    if (look++ % 2 === 1) return (await shown("1")) >= 50;
    Atomics.wait(nobody, 0, 0, 100);
    return false;
  });
  // The delay has ended and was reported once. Half of the clock's ticks are late by a small part of a tick;
  // without ticks the value would be lower.
  await eventually("a thread that does nothing is hardly late", async () => {
    const late = await shown("0.5");
    return late > 0.01 && late < 5;
  });
});

test("no label contains a key, a text or an organization", async () => {
  const text = await scrape();
  for (const secret of ["sk-svc-", "org_1", "key_1", "one.two", "made-up"])
    assert.ok(!text.includes(secret), secret);
  assert.equal((await fetch(`http://127.0.0.1:${operator.port}/`)).status, 404);
  assert.equal((await fetch(`http://127.0.0.1:${operator.port}/metrics`, { method: "POST" })).status, 404);
});
