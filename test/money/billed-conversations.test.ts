import assert from "node:assert/strict";
import { test } from "node:test";
import { BilledSynthesis } from "../../actors/billing/billed-synthesis.js";
import { BilledTranscription } from "../../actors/billing/billed-transcription.js";
import type { FileLength, TimedTranscript } from "../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { StopReason } from "../../core/ports/conversations.js";
import { deferred, settled } from "../support/deferred.js";
import { FreeMeter } from "../support/free-meter.js";

const REFERENCE = { id: "req_1", organizationId: "org_1" };
const PIECE = { pcm: new Int16Array(4), sampleRateHz: 24_000, endsSentence: true };
const TRANSCRIPT: TimedTranscript = {
  segments: [],
  sampleCountIn: 8_000,
  sampleRateInHz: 8_000,
  modelId: "m",
  processingSeconds: 1,
};

/** A synthesis of three sentences of 10 characters each; the third may fail. */
function speaking({ fails = false } = {}) {
  const meter = new FreeMeter();
  const stops: StopReason[] = [];
  const session = {
    modelId: "m",
    billedCharacters: 30,
    sampleRateHz: 24_000,
    mostHeldBytes: 24,
    charactersThrough: [10, 20, 30],
    async *chunks() {
      yield PIECE;
      yield PIECE;
      if (stops.length > 0) throw new ServiceError("CANCELLED", "stopped");
      if (fails) throw new ServiceError("WORKER_LOST", "the worker is gone");
      yield PIECE;
    },
    stop: (reason: StopReason) => void stops.push(reason),
  };
  return { meter, stops, billed: new BilledSynthesis(meter, REFERENCE, session) };
}

/** Reads as the stream route does: it charges before the first piece and completes after the last. */
async function stream(billed: BilledSynthesis, onPiece: (count: number) => void = () => {}) {
  let count = 0;
  for await (const _ of billed.chunks()) {
    if (count === 0) await billed.charge();
    onPiece(++count);
  }
  billed.complete();
}

test("a synthesis is held, charged with its first audio, and final when complete", async () => {
  const { meter, billed } = speaking();
  await stream(billed);
  billed.stop("client-left");
  assert.deepEqual(meter.calls, [
    "hold",
    "charge",
    "delivered 10",
    "delivered 20",
    "delivered 30",
    "complete",
  ]);
});

test("a synthesis that fails midway is charged for the delivered part", async () => {
  const { meter, billed } = speaking({ fails: true });
  await assert.rejects(stream(billed), /the worker is gone/);
  billed.stop("client-left");
  assert.deepEqual(meter.calls, ["hold", "charge", "delivered 10", "delivered 20", "refund 20"]);
});

test("a synthesis that fails before its first audio costs nothing", async () => {
  const { meter, billed } = speaking({ fails: true });
  const whole = async () => {
    for await (const _ of billed.chunks());
    await billed.charge();
  };
  await assert.rejects(whole, /the worker is gone/);
  assert.deepEqual(meter.calls, ["hold", "release"]);
});

for (const [reason, call] of [
  ["client-left", "complete"],
  ["service-stops", "refund 10"],
] as const) {
  test(`a charged synthesis that ends because of ${reason} is settled with ${call}`, async () => {
    const { meter, billed } = speaking();
    const stopAtSecond = (count: number) => {
      if (count === 2) billed.stop(reason);
    };
    await assert.rejects(stream(billed, stopAtSecond), /stopped/);
    assert.deepEqual(meter.calls, ["hold", "charge", "delivered 10", call]);
  });
}

test("without credits nothing is synthesized or charged", async () => {
  const { meter, billed, stops } = speaking();
  meter.refusal = new ServiceError("OUT_OF_CREDITS", "out of credits");
  await assert.rejects(stream(billed), /out of credits/);
  billed.stop("client-left");
  assert.deepEqual([meter.calls, stops.length], [["hold"], 1]);
});

/** A transcription whose duration and result the test determines. */
function transcribing() {
  const meter = new FreeMeter();
  const work = deferred<TimedTranscript>();
  let tellLength: (length: FileLength) => Promise<void> = async () => {};
  const billed = new BilledTranscription(meter, REFERENCE, (onLength) => {
    tellLength = onLength;
    const stop = () => work.reject(new ServiceError("CANCELLED", "stopped"));
    return { transcript: work.promise, stop };
  });
  return { meter, work, billed, tellLength };
}

test("credits for a file are held when its length is known and charged with its result", async () => {
  const { meter, work, billed, tellLength } = transcribing();
  await tellLength(TRANSCRIPT);
  work.resolve(TRANSCRIPT);
  assert.equal((await billed.transcript).creditsCharged, 7);
  billed.complete();
  billed.stop("service-stops");
  assert.deepEqual(meter.calls, ["hold", "charge", "complete"]);
});

test("the hold of a file that fails or whose client leaves is released", async () => {
  const { meter, billed, tellLength } = transcribing();
  await tellLength(TRANSCRIPT);
  billed.stop("client-left");
  await assert.rejects(billed.transcript, /stopped/);
  assert.deepEqual(meter.calls, ["hold", "release"]);
});

test("a hold that opens after its client has left is released", async () => {
  const { meter, billed, tellLength } = transcribing();
  const told = tellLength(TRANSCRIPT);
  billed.stop("client-left");
  await assert.rejects(billed.transcript, /stopped/);
  await assert.rejects(told, /cancelled/);
  await settled();
  assert.deepEqual(meter.calls, ["hold", "release"]);
});

test("nothing is held for a client that has already left", async () => {
  const { meter, billed, tellLength } = transcribing();
  billed.stop("client-left");
  await assert.rejects(billed.transcript, /stopped/);
  await assert.rejects(tellLength(TRANSCRIPT), /cancelled/);
  assert.deepEqual(meter.calls, []);
});

test("a file that is charged at its first text is charged once", async () => {
  const { meter, work, billed, tellLength } = transcribing();
  await tellLength(TRANSCRIPT);
  await Promise.all([billed.charge(), billed.charge()]);
  work.resolve(TRANSCRIPT);
  assert.equal((await billed.transcript).creditsCharged, 7);
  billed.complete();
  assert.deepEqual(meter.calls, ["hold", "charge", "complete"]);
});

test("after the first text, a client that leaves pays for the file, and failed work is refunded", async () => {
  for (const [end, last] of [
    ["client-left", "complete"],
    ["service-stops", "refund 0"],
  ] as const) {
    const { meter, billed, tellLength } = transcribing();
    await tellLength(TRANSCRIPT);
    await billed.charge();
    billed.stop(end);
    await assert.rejects(billed.transcript, /stopped/);
    assert.deepEqual(meter.calls, ["hold", "charge", last]);
  }
});
