import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { LiveEngine } from "../../actors/live/engine.js";
import { ServiceError } from "../../core/domain/errors.js";
import { startLiveWorker } from "../../native/start-workers.js";
import { cut, joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { liveEngine, RECOGNIZER } from "../support/engines.js";
import { FaultOrders } from "../support/faulty/orders.js";
import { finalsOf, LiveListener } from "../support/live-listener.js";

const KAZAKH = speech("kazakh-speech-commands/example_1.flac");
const DIALOGUE = joined(
  silence(0.3),
  KAZAKH,
  silence(0.8),
  speech("asterisk-ru-core/conf-getconfno.flac"),
  silence(0.5),
);

const orders = new FaultOrders();
let engine: LiveEngine;
let workersUp = 0;
let canRestart = true;
let refusedStarts = 0;

before(async () => {
  engine = await liveEngine({
    startWorker: async (cells, onMessage) => {
      if (!canRestart) {
        refusedStarts++;
        throw new ServiceError("MODEL_BROKEN", "the file was replaced");
      }
      const worker = await startLiveWorker(RECOGNIZER, cells, onMessage);
      workersUp++;
      return worker;
    },
  });
  await engine.start();
});

after(() => engine.stop());

test("a live worker that dies in the middle of an utterance loses no word", async () => {
  const undisturbed = await finalsOf(engine, [DIALOGUE]);
  assert.ok(undisturbed.length >= 2);
  const [listener, bystander] = [new LiveListener(engine), new LiveListener(engine)];
  const pieces = cut(DIALOGUE, [1_600]);
  const isHalfOfSecond = (piece: number) => piece === Math.floor((KAZAKH.length + 2.5 * RATE_HZ) / 1_600);
  for (const [index, piece] of pieces.entries()) {
    listener.feed.write(piece);
    bystander.feed.write(piece);
    if (isHalfOfSecond(index)) {
      await listener.seen((event) => event.type === "partial" && event.startSample > KAZAKH.length);
      orders.failAll("live");
    }
  }
  assert.equal((await listener.finish()).type, "finished");
  assert.equal((await bystander.finish()).type, "finished");
  assert.equal(workersUp, 2);
  assert.deepEqual(listener.finals, undisturbed);
  assert.deepEqual(bystander.finals, undisturbed);
  assert.equal(engine.sessionCount, 0);
});

/** The ways to end an utterance in the middle of speech. Each reports when the utterance has ended. */
const CUTS: readonly (readonly [string, Int16Array, (listener: LiveListener) => void])[] = [
  ["by finalize", KAZAKH, ({ feed }) => feed.finalize()],
  ["for its length", joined(...Array<Int16Array>(8).fill(KAZAKH)), () => undefined],
];
for (const [how, pcm, end] of CUTS) {
  test(`a live worker that dies after an utterance was ended ${how} in mid-speech loses no word`, async () => {
    const speak = async (afterFirstFinal: () => void) => {
      const listener = new LiveListener(engine, { endOfUtteranceMs: 2_000 });
      const pieces = cut(pcm, [2.2 * RATE_HZ]);
      await listener.writeAll(pieces.slice(0, 1));
      end(listener);
      // An utterance that reaches the maximum length needs its remaining audio before it ends.
      const isCutByLength = pieces.length > 8;
      if (isCutByLength) await listener.writeAll(pieces.slice(1));
      await listener.seen((event) => event.type === "final");
      afterFirstFinal();
      if (!isCutByLength) await listener.writeAll(pieces.slice(1));
      assert.equal((await listener.finish()).type, "finished");
      return listener.finals;
    };
    const undisturbed = await speak(() => undefined);
    assert.ok(undisturbed.length >= 2);
    const upBefore = workersUp;
    assert.deepEqual(await speak(() => orders.failAll("live")), undisturbed);
    assert.equal(workersUp, upBefore + 1);
  });
}

test("a live worker that does not restart fails its sessions and rejects new ones", async () => {
  const listeners = [new LiveListener(engine), new LiveListener(engine)];
  for (const listener of listeners) await listener.seen((event) => event.type === "ready");
  canRestart = false;
  orders.failAll("live");
  await listeners[0]!.writeAll([KAZAKH]);
  for (const listener of listeners) {
    assert.deepEqual(await listener.ending, {
      type: "failed",
      message: "live transcription is not available",
    });
    listener.feed.release();
  }
  // There is one restart because the worker had served, then five within half a minute. Earlier tests may
  // have used up some of them.
  assert.ok(refusedStarts >= 1 && refusedStarts <= 6, `${refusedStarts} more starts`);
  assert.equal(engine.sessionCount, 0);
  assert.throws(
    () => new LiveListener(engine),
    (error) => error instanceof ServiceError && error.code === "ENGINE_BUSY",
  );
});
