import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import type { FrontRequest, FrontResponse } from "../../core/ports/front.js";
import { ProgressEvents } from "../../src/http/endpoints/transcribe.js";
import { HEARTBEAT_MS } from "../../src/http/events.js";
import { Exchange } from "../../src/http/exchange.js";
import { settled } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { SILENT } from "../support/silent-log.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

interface Told {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

function eventsOf(text: string): Told[] {
  const blocks = text.split("\n\n");
  assert.equal(blocks.pop(), "", "the last event is whole");
  return blocks.map((block) => {
    const [, event = "", data = ""] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
    return { event, data: JSON.parse(data) };
  });
}

for (const front of FRONTS) {
  describe(`transcription as events on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;

    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());
    beforeEach(() => {
      running.conversations.nextTranscription = "answer";
      running.conversations.nextShares = [];
    });

    const post = (headers: Record<string, string>) =>
      fetch(`${running.base}/v1/transcribe?timestamps=true`, {
        method: "POST",
        body: "audio",
        headers: { authorization: `Bearer ${GOOD_KEY}`, ...headers },
      });

    test("progress arrives during the work, followed by the JSON response as the result", async () => {
      running.conversations.nextShares = [0, 0.25, 0.251, 1];
      const expected = await (await post({})).json();
      const answer = await post({ accept: "text/event-stream" });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-type"), "text/event-stream");
      assert.equal(answer.headers.get("content-length"), null);
      assert.equal(answer.headers.get("x-accel-buffering"), "no");
      const events = eventsOf(await answer.text());
      const shares = events.slice(0, -1).map(({ event, data }) => [event, data["share"]]);
      // Small advances are not reported.
      assert.deepEqual(shares, [
        ["progress", 0],
        ["progress", 0.25],
        ["progress", 1],
      ]);
      assert.deepEqual(events.at(-1), { event: "result", data: expected });
    });

    test("a failure before the first event sets the status, a later one is the last event", async () => {
      running.conversations.nextTranscription = new ServiceError("WORKER_LOST", "try again");
      const early = await post({ accept: "text/event-stream" });
      assert.equal(early.status, 503);
      assert.deepEqual(await early.json(), { detail: "try again" });
      running.conversations.nextShares = [0.5];
      const late = await post({ accept: "text/event-stream" });
      assert.equal(late.status, 200);
      assert.deepEqual(eventsOf(await late.text()), [
        { event: "progress", data: { share: 0.5 } },
        { event: "error", data: { code: "worker_lost", detail: "try again", status: 503 } },
      ]);
    });

    test("a client that leaves stops the work", async () => {
      running.conversations.nextTranscription = "wait";
      running.conversations.nextShares = [0.5];
      running.conversations.stops.length = 0;
      const abort = new AbortController();
      const answer = await fetch(`${running.base}/v1/transcribe`, {
        method: "POST",
        body: "audio",
        headers: { authorization: `Bearer ${GOOD_KEY}`, accept: "text/event-stream" },
        signal: abort.signal,
      });
      await answer.body!.getReader().read();
      abort.abort();
      await eventually("the end", () => running.conversations.stops.length > 0);
      assert.equal(running.conversations.stops[0], "client-left");
    });
  });
}

/** An exchange whose client accepts bytes only when the test allows it. */
function slowExchange() {
  const written: string[] = [];
  let take = () => {};
  const write = (chunk: Uint8Array) => {
    written.push(Buffer.from(chunk).toString());
    return new Promise<void>((resolve) => {
      take = resolve;
    });
  };
  let hasStarted = false;
  const start = () => {
    hasStarted = true;
  };
  const response = {
    start,
    write,
    end: async (chunk: Uint8Array) => void (await write(chunk)),
    reset: () => {},
  };
  Object.defineProperty(response, "hasStarted", { get: () => hasStarted });
  const exchange = new Exchange({} as FrontRequest, response as unknown as FrontResponse, "req_1", SILENT);
  return { exchange, written, take: () => take() };
}

test("comments keep a silent connection open; a slow reader gets fewer events", async (context) => {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const { exchange, written, take } = slowExchange();
  const events = new ProgressEvents(exchange);
  events.progress(0);
  events.progress(0.3);
  context.mock.timers.tick(HEARTBEAT_MS);
  assert.equal(written.length, 1, "the first event is not taken yet");
  take();
  await settled();
  context.mock.timers.tick(HEARTBEAT_MS);
  take();
  await settled();
  events.progress(0.6);
  assert.deepEqual(written.slice(1), [":\n\n", 'event: progress\ndata: {"share":0.6}\n\n']);
  take();
  await settled();
  exchange.ended();
  context.mock.timers.tick(10 * HEARTBEAT_MS);
  assert.equal(written.length, 3, "nothing comes behind the end");
});
