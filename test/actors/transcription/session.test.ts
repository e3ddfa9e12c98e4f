import assert from "node:assert/strict";
import { test } from "node:test";
import { TranscriptionSession } from "../../../actors/transcription/session.js";
import type { FileTranscript } from "../../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { deferred, settled } from "../../support/deferred.js";
import * as fc from "../../support/properties.js";

const TRANSCRIPT: FileTranscript = {
  segments: [],
  sampleCountIn: 8_000,
  sampleRateInHz: 8_000,
  modelId: "m",
};

/** A session whose work and clock the test controls. */
function transcribing() {
  const work = deferred<FileTranscript>();
  const clock = { atMs: 1_000, nowMs: () => clock.atMs };
  let seen: AbortSignal | null = null;
  const session = new TranscriptionSession(clock, (signal) => {
    seen = signal;
    return work.promise;
  });
  const signal = seen as AbortSignal | null;
  assert.ok(signal !== null, "the work begins at once");
  return { session, work, clock, signal };
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

type Ending = "transcribed" | "failed" | "client-left" | "service-stops";

test("only the first ending counts", async () => {
  const anyEnding = fc.constantFrom<Ending>("transcribed", "failed", "client-left", "service-stops");
  const outcomes = {
    transcribed: "m",
    failed: "AUDIO_UNREADABLE",
    "client-left": "CANCELLED",
    "service-stops": "SHUTTING_DOWN",
  };
  await fc.assert(
    fc.asyncProperty(fc.array(anyEnding, { minLength: 1, maxLength: 6 }), async (endings) => {
      const { session, work } = transcribing();
      const outcome = session.transcript.then(
        ({ modelId }) => modelId,
        (error: ServiceError) => error.code,
      );
      for (const ending of endings) {
        if (ending === "transcribed") work.resolve(TRANSCRIPT);
        else if (ending === "failed") work.reject(new ServiceError("AUDIO_UNREADABLE", "no"));
        else session.stop(ending);
        await settled();
      }
      assert.equal(await outcome, outcomes[endings[0]!]);
    }),
  );
});

test("a transcript includes its processing time", async () => {
  const { session, work, clock, signal } = transcribing();
  clock.atMs += 2_500;
  work.resolve(TRANSCRIPT);
  assert.deepEqual(await session.transcript, { ...TRANSCRIPT, processingSeconds: 2.5 });
  session.stop("client-left");
  assert.equal(signal.aborted, false, "there is nothing left to cancel");
});

test("a failure of the transcriber fails the session", async () => {
  const { session, work } = transcribing();
  work.reject(new ServiceError("AUDIO_UNREADABLE", "no WAVE"));
  await assert.rejects(session.transcript, hasCode("AUDIO_UNREADABLE"));
});

for (const [reason, code] of [
  ["client-left", "CANCELLED"],
  ["service-stops", "SHUTTING_DOWN"],
] as const) {
  test(`${reason} cancels the work and settles with ${code} immediately`, async () => {
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
