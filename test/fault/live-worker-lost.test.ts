import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { LiveEngine } from "../../actors/engine/live-engine.js";
import { startLiveWorker } from "../../native/worker/start-workers.js";
import { SpeechError } from "../../src/domain/errors.js";
import { cut, joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { liveEngine, RECOGNIZER } from "../support/engines.js";
import { finalsOf, LiveListener } from "../support/live-listener.js";

const KAZAKH = speech("kazakh-speech-commands/example_1.wav");
const DIALOGUE = joined(
  silence(0.3),
  KAZAKH,
  silence(0.8),
  speech("asterisk-ru-core/conf-getconfno.wav"),
  silence(0.5),
);

let engine: LiveEngine;
let workersUp = 0;
let canRestart = true;
let refusedStarts = 0;

before(async () => {
  engine = await liveEngine({
    startWorker: async (cells, onMessage) => {
      if (!canRestart) {
        refusedStarts++;
        throw new SpeechError("MODEL_BROKEN", "the file was replaced");
      }
      const worker = await startLiveWorker(RECOGNIZER, cells, onMessage);
      workersUp++;
      return worker;
    },
  });
  await engine.start();
});

after(() => engine.stop());

test("a live worker that dies in the middle of an utterance costs no word", async () => {
  const undisturbed = await finalsOf(engine, [DIALOGUE]);
  assert.ok(undisturbed.length >= 2);
  const [listener, bystander] = [new LiveListener(engine), new LiveListener(engine)];
  const pieces = cut(DIALOGUE, [1_600]);
  const isHalfOfSecond = (piece: number) => piece === Math.floor((KAZAKH.length + 2.5 * RATE_HZ) / 1_600);
  for (const [index, piece] of pieces.entries()) {
    listener.stream.write(piece);
    bystander.stream.write(piece);
    if (isHalfOfSecond(index)) {
      await listener.seen((event) => event.type === "partial" && event.startSample > KAZAKH.length);
      engine.injectFault();
    }
  }
  assert.equal((await listener.finish()).type, "finished");
  assert.equal((await bystander.finish()).type, "finished");
  assert.equal(workersUp, 2);
  assert.deepEqual(listener.finals, undisturbed);
  assert.deepEqual(bystander.finals, undisturbed);
  assert.equal(engine.sessionCount, 0);
});

test("a live worker that does not come back fails its sessions and refuses new ones", async () => {
  const listeners = [new LiveListener(engine), new LiveListener(engine)];
  for (const listener of listeners) await listener.seen((event) => event.type === "ready");
  canRestart = false;
  engine.injectFault();
  await listeners[0]!.writeAll([KAZAKH]);
  for (const listener of listeners) {
    assert.deepEqual(await listener.ending, {
      type: "failed",
      message: "live transcription is not available",
    });
    listener.stream.release();
  }
  // Five restarts in half a minute, of which the test before may have used one.
  assert.ok(refusedStarts === 4 || refusedStarts === 5, `${refusedStarts} more starts`);
  assert.equal(engine.sessionCount, 0);
  assert.throws(
    () => new LiveListener(engine),
    (error) => error instanceof SpeechError && error.code === "ENGINE_BUSY",
  );
});
