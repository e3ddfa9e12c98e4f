import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { Metrics } from "../../core/observe/metrics.js";
import type { Caller } from "../../core/ports/conversations.js";
import { listen } from "../../src/service/conversations.js";
import { type Deferred, deferred, settled } from "../support/deferred.js";
import { FakeLiveDecoder, RecordingSink } from "../support/fake-live.js";
import { FreeMeter } from "../support/free-meter.js";
import { SILENT } from "../support/silent-log.js";

const CALLER: Caller = {
  requestId: "req-1",
  identity: { keyId: "key_1", organizationId: "org_1", tier: "paid" },
  endpoint: "/v1/stream",
};
const OPTIONS = { model: "m-1", endOfUtteranceMs: 200, partials: true, words: false, hotWords: [] };

/** A conversation on a fake decoder, and the state of its lease. */
function listening(meter = new FreeMeter()) {
  const metrics = new Metrics({ withProcess: false });
  const granted: Deferred<void> = deferred();
  const lease = { decoder: new FakeLiveDecoder(), releases: 0 };
  const start = listen({
    recognizers: new Map([
      [
        "m-1",
        {
          manifest: { id: "m-1", sampleRateHz: 16_000 },
          live: {
            take: () => ({
              engine: Object.assign(lease.decoder, { start: async () => {}, stop: async () => {} }),
              granted: granted.promise,
              release: () => {
                lease.releases++;
              },
            }),
          },
        },
      ],
    ]),
    meter,
    metrics,
    log: SILENT,
  });
  const sink = new RecordingSink();
  const lines = async () => (await metrics.text()).split("\n");
  return { begin: () => start(CALLER, OPTIONS, sink), sink, lease, granted, lines };
}

test("open live sessions, their audio and their messages are counted", async () => {
  const { begin, lines } = listening();
  const session = begin();
  session.audio(new Uint8Array(100));
  session.badMessage("no JSON");
  const during = await lines();
  for (const line of [
    "live_sessions 1",
    "live_received_samples_total 50",
    'live_messages_total{type="error"} 1',
    'errors_total{code="bad_message"} 1',
  ])
    assert.ok(during.includes(line), line);
  session.close();
  // The socket is open until the client has answered the close frame.
  assert.ok((await lines()).includes("live_sessions 1"));
  session.disconnected();
  assert.ok((await lines()).includes("live_sessions 0"));
});

test("a session keeps its models until it ends and releases them once", () => {
  const { begin, lease } = listening();
  const session = begin();
  session.close();
  assert.equal(lease.releases, 0);
  lease.decoder.emit({ type: "finished" });
  assert.equal(lease.releases, 1);
  session.disconnected();
  assert.equal(lease.releases, 1);
});

test("if the models do not load, the waiting session ends", async () => {
  const { begin, sink, lease, granted } = listening();
  begin();
  granted.reject(new ServiceError("ENGINE_BUSY", "the model is still being loaded, try again"));
  await settled();
  assert.deepEqual(sink.closes, [{ code: 1013, reason: "engine_busy" }]);
  assert.equal(lease.releases, 1);
});

test("a lease that is rejected after its session has ended does not reach the client", async () => {
  const { begin, sink, granted } = listening();
  begin().disconnected();
  granted.reject(new ServiceError("CANCELLED", "released"));
  await settled();
  assert.deepEqual([sink.messages, sink.closes], [[], []]);
});

test("a session that cannot start releases its models", () => {
  const meter = new FreeMeter();
  meter.openLive = () => {
    throw new Error("no meter");
  };
  const { begin, lease } = listening(meter);
  assert.throws(begin, /no meter/);
  assert.equal(lease.releases, 1);
});
