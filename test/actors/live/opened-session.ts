import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { LiveSession } from "../../../actors/live/session.js";
import type { StreamOptions, StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import { FakeLiveDecoder, RecordingSink } from "../../support/fake-live.js";
import { FreeMeter } from "../../support/free-meter.js";
import { ManualTimers } from "../../support/manual-timers.js";
import { SILENT } from "../../support/silent-log.js";

export const RATE_HZ = 16_000;
export const OPTIONS: StreamOptions = { endOfUtteranceMs: 400, partials: true, words: false, hotWords: [] };
export const IDLE_MS = 60_000;

export interface Opened {
  readonly session: LiveSession;
  readonly decoder: FakeLiveDecoder;
  readonly sink: RecordingSink;
  readonly timers: ManualTimers;
  readonly endings: { count: number };
  readonly meter: FreeMeter;
}

/**
 * A session between a fake decoder and a fake sink, on manual timers. A warm one has already sent `ready`.
 */
export function opened(
  t: TestContext,
  options: StreamOptions = OPTIONS,
  sink = new RecordingSink(),
  meter = new FreeMeter(),
  isWarm = true,
): Opened {
  const timers = ManualTimers.install(t);
  const decoder = new FakeLiveDecoder();
  const endings = { count: 0 };
  const session = new LiveSession({
    sessionId: "s-1",
    requestId: "r-1",
    modelId: "m-1",
    sampleRateHz: RATE_HZ,
    options,
    decoder,
    meter,
    organizationId: "org_1",
    sink,
    log: SILENT,
    onEnded: () => {
      endings.count++;
    },
  });
  if (isWarm) {
    decoder.emit({ type: "ready" });
    sink.messages.length = 0;
  }
  return { session, decoder, sink, timers, endings, meter };
}

/** A session whose decoder has not loaded its model yet. */
export function openedCold(t: TestContext): Opened {
  return opened(t, OPTIONS, new RecordingSink(), new FreeMeter(), false);
}

/** Asserts that all resources are released after the end. */
export function assertEnded(
  { decoder, sink, timers, endings, meter }: Opened,
  chargedSamples = decoder.samples.length,
): void {
  assert.deepEqual(meter.settledSamples, [chargedSamples], "settled once, for what was accepted");
  assert.equal(endings.count, 1);
  assert.equal(decoder.calls.filter((call) => call === "release").length, 1);
  assert.equal(timers.pendingCount, 0);
  assert.equal(sink.lateMessageCount, 0);
}

export function typesOf(messages: readonly StreamServerMessage[]): string[] {
  return messages.map((message) => (message.type === "error" ? `error ${message.code}` : message.type));
}

export function bytesOf(samples: readonly number[]): Uint8Array {
  return new Uint8Array(Int16Array.from(samples).buffer);
}
