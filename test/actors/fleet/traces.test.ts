import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_SPAN } from "../../../core/ports/span.js";
import { joined, silence, speech } from "../../support/audio.js";
import { eventually } from "../../support/eventually.js";
import { liveHost, remoteLiveEngine } from "../../support/fleet.js";
import { InProcessHub } from "../../support/in-process-bus.js";
import { LiveListener } from "../../support/live-listener.js";
import { RecordedSpans } from "../../support/recorded-spans.js";

const TRACEPARENT = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

test("an engine continues the trace of a gateway's session until the session leaves", async () => {
  const faults: unknown[] = [];
  const hub = new InProcessHub((error) => void faults.push(error));
  const tracer = new RecordedSpans();
  const host = await liveHost(hub.connect(), { tracer });
  await host.start();
  const { engine, directory } = await remoteLiveEngine(hub.connect(), { workerCount: 1 });
  try {
    await engine.start();
    const traced = new LiveListener(engine, {
      span: { ...NO_SPAN, isTraced: true, traceparent: TRACEPARENT },
    });
    const untraced = new LiveListener(engine);
    for (const listener of [traced, untraced]) listener.feed.write(samples());
    for (const listener of [traced, untraced]) await listener.finish();
    await eventually("the sessions have left the engine", () => host.sessionCount === 0);
    assert.deepEqual(
      tracer.spans.map(({ name, parent, ends }) => ({ name, parent, ends })),
      [{ name: "engine session", parent: TRACEPARENT, ends: 1 }],
    );
    const session = tracer.spans[0]!;
    assert.equal(session.attributes["epoch"], 1);
    assert.ok(traced.finals.length > 0);
    assert.deepEqual(
      session.events,
      traced.finals.map(() => "final"),
    );
  } finally {
    await engine.stop();
    await host.stop();
    directory.close();
  }
  assert.deepEqual(faults, []);
});

function samples(): Int16Array {
  return joined(silence(0.3), speech("asterisk-ru-core/conf-lockednow.flac"), silence(0.6));
}
