import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decideTranscription,
  type TranscriptionMessage,
  TranscriptionSession,
  type TranscriptionState,
} from "../../../actors/transcription/session.js";
import type { FileTranscript } from "../../../src/domain/decoding/transcript.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { deferred, settled } from "../../support/deferred.js";
import * as fc from "../../support/properties.js";

const TRANSCRIPT: FileTranscript = {
  segments: [],
  sampleCountIn: 8_000,
  sampleRateInHz: 8_000,
  modelId: "m",
};

/** A session over a transcriber that answers when the test says so, on a clock that the test moves. */
function transcribing() {
  const work = deferred<FileTranscript>();
  const clock = { atMs: 1_000, nowMs: () => clock.atMs };
  const seen: { path: string; signal: AbortSignal }[] = [];
  const transcriber = {
    transcribe: (path: string, signal: AbortSignal) => {
      seen.push({ path, signal });
      return work.promise;
    },
  };
  const session = new TranscriptionSession("/spool/upload.wav", transcriber, clock);
  return { session, work, clock, path: seen[0]!.path, signal: seen[0]!.signal };
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("the first ending counts, whatever comes after it", () => {
  const anyMessage = fc.constantFrom<TranscriptionMessage>(
    { type: "transcribed", transcript: TRANSCRIPT },
    { type: "failed", error: new ServiceError("AUDIO_UNREADABLE", "no") },
    { type: "stop", reason: "client-left" },
    { type: "stop", reason: "service-stops" },
  );
  fc.assert(
    fc.property(fc.array(anyMessage, { minLength: 1, maxLength: 6 }), (messages) => {
      let state: TranscriptionState = { phase: "transcribing" };
      const answers = messages.flatMap((message) => {
        const decision = decideTranscription(state, message);
        state = decision.state;
        return decision.effects.filter((effect) => effect.type !== "cancel");
      });
      assert.equal(answers.length, 1);
      assert.equal(answers[0]!.type, messages[0]!.type === "transcribed" ? "answer" : "refuse");
    }),
  );
});

test("a transcript comes with the time it took", async () => {
  const { session, work, clock, path, signal } = transcribing();
  assert.equal(path, "/spool/upload.wav");
  clock.atMs += 2_500;
  work.resolve(TRANSCRIPT);
  assert.deepEqual(await session.transcript, { ...TRANSCRIPT, processingSeconds: 2.5 });
  session.stop("client-left");
  assert.equal(signal.aborted, false, "there is nothing left to cancel");
});

test("a failure of the transcriber is the session's", async () => {
  const { session, work } = transcribing();
  work.reject(new ServiceError("AUDIO_UNREADABLE", "no WAVE"));
  await assert.rejects(session.transcript, hasCode("AUDIO_UNREADABLE"));
});

for (const [reason, code] of [
  ["client-left", "CANCELLED"],
  ["service-stops", "SHUTTING_DOWN"],
] as const) {
  test(`${reason} cancels the work and settles with ${code} at once`, async () => {
    const { session, work, signal } = transcribing();
    session.stop(reason);
    session.stop(reason);
    assert.equal(signal.aborted, true);
    await assert.rejects(session.transcript, hasCode(code));
    work.resolve(TRANSCRIPT);
    await settled();
    await assert.rejects(session.transcript, hasCode(code));
  });
}
