import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveWorkerMessage } from "../../../actors/live/engine.js";
import { startLiveWorker } from "../../../native/start-workers.js";
import { LIVE_CELL } from "../../../native/threads/protocol.js";
import { cut, silence, speech } from "../../support/audio.js";
import { liveEngine, RECOGNIZER } from "../../support/engines.js";
import { LiveListener } from "../../support/live-listener.js";

const SPEECH = speech("asterisk-ru-core/conf-getconfno.flac");
const SESSIONS = 8;

test("all writes of a turn share a wake-up, and all results of a step share a message", async () => {
  let bell: Int32Array = new Int32Array(LIVE_CELL.count);
  const messages: LiveWorkerMessage[] = [];
  const engine = await liveEngine({
    startWorker: (cells, onMessage) => {
      bell = new Int32Array(cells);
      return startLiveWorker(RECOGNIZER, cells, (message) => {
        messages.push(message);
        onMessage(message);
      });
    },
  });
  await engine.start();
  try {
    const listeners = Array.from({ length: SESSIONS }, () => new LiveListener(engine));
    for (const { feed } of listeners) feed.write(silence(0.04));
    // Sessions open in a microtask. Each message makes the worker wake itself.
    await new Promise((resolve) => setImmediate(resolve));
    const pieces = cut(SPEECH, [640]);
    const before = Atomics.load(bell, LIVE_CELL.bell);
    for (const piece of pieces) for (const { feed } of listeners) feed.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
    const rings = Atomics.load(bell, LIVE_CELL.bell) - before;
    assert.ok(rings <= 1 + SESSIONS, `${rings} rings for ${SESSIONS * pieces.length} writes`);
    for (const { feed } of listeners) feed.finish();
    await Promise.all(listeners.map(({ ending }) => ending));
    const told = listeners.reduce((total, { events }) => total + events.length, 0);
    const answered = messages.filter(({ type }) => type === "answers").length;
    assert.ok(answered < told / 2, `${answered} messages for ${told} events`);
    for (const { feed } of listeners) feed.release();
  } finally {
    await engine.stop();
  }
});
