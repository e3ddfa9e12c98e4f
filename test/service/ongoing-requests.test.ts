import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimedTranscript } from "../../core/domain/decoding/transcript.js";
import type { Caller, Conversations, FileWishes } from "../../core/ports/conversations.js";
import { OngoingRequests } from "../../src/jobs/ongoing-requests.js";

/** Longer than any test. */
const NEVER_MS = 3_600_000;

/** Transcriptions that end when the test says so. */
function controlled(requests: OngoingRequests) {
  const ends: PromiseWithResolvers[] = [];
  const transcription = requests.counting((() => {
    const own = withResolvers();
    ends.push(own);
    return { transcript: own.promise, stop() {} };
  }) as unknown as Conversations["transcription"]);
  return { ends, start: () => transcription({} as Caller, "request.wav", {} as FileWishes) };
}

interface PromiseWithResolvers {
  readonly promise: Promise<TimedTranscript>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve!: (transcript: TimedTranscript) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<TimedTranscript>((onDone, onFailed) => {
    resolve = onDone;
    reject = onFailed;
  });
  return { promise, resolve: () => resolve({} as TimedTranscript), reject };
}

async function* chunksOf(count: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let nth = 0; nth < count; nth++) yield Uint8Array.of(nth);
}

/** Returns whether the promise settles without waiting for a timer. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise<false>((resolve) => setImmediate(() => resolve(false)));
  return await Promise.race([promise.then(() => true as const), later]);
}

test("chunks wait for the end of every request, whether it succeeds or fails", async () => {
  const requests = new OngoingRequests(NEVER_MS);
  const { ends, start } = controlled(requests);
  const chunks = requests.behind(chunksOf(3), new AbortController().signal);
  assert.deepEqual((await chunks.next()).value, Uint8Array.of(0));
  for (const { transcript } of [start(), start()]) transcript.catch(() => {});
  const next = chunks.next();
  ends[0]!.resolve();
  assert.equal(await isSettled(next), false);
  ends[1]!.reject(new Error("not audio"));
  assert.deepEqual((await next).value, Uint8Array.of(1));
  assert.ok(await isSettled(chunks.next()), "nothing to wait for");
  assert.equal((await chunks.next()).done, true);
});

test("chunks wait while a file is expected", async () => {
  const requests = new OngoingRequests(NEVER_MS);
  let isExpected = false;
  const expectFile = requests.countingExpected(() => {
    isExpected = true;
    return () => {
      isExpected = false;
    };
  });
  const leave = expectFile();
  assert.ok(isExpected);
  const passing = requests.pass(new AbortController().signal);
  assert.equal(await isSettled(passing), false);
  for (let nth = 0; nth < 2; nth++) leave(true);
  assert.ok(await isSettled(passing));
  assert.equal(isExpected, false);
  expectFile();
  assert.equal(await isSettled(requests.pass(AbortSignal.abort())), true, "an aborted job does not wait");
});

test("a request that does not end delays a chunk only for a while, and an aborted job not at all", async () => {
  const requests = new OngoingRequests();
  controlled(requests).start();
  // The timers of abort signals do not keep a process alive.
  const alive = setInterval(() => {}, 1_000);
  const read: Uint8Array[] = [];
  for await (const chunk of requests.behind(chunksOf(3), new AbortController().signal)) read.push(chunk);
  clearInterval(alive);
  assert.equal(read.length, 3);
  const abort = new AbortController();
  const patient = new OngoingRequests(NEVER_MS);
  controlled(patient).start();
  const passing = patient.pass(abort.signal);
  assert.equal(await isSettled(passing), false);
  abort.abort();
  assert.ok(await isSettled(passing));
});
