import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort } from "../../bench/support/free-port.js";
import type { LiveStatus } from "../../src/client/live-options.js";
import type { LiveFinal, LiveResult } from "../../src/client/live-types.js";
import { DauysClient, liveSentences } from "../../src/client/node.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { DIALOGUE, listen, type Received } from "./support.js";

/** On a busy machine, a start may take longer than a client waits by default. */
const OPTIONS = { words: true, reconnectTimeoutMs: 240_000 };

let dataDir: string;
let environment: Record<string, string>;
let service: ServiceProcess;
let client: DauysClient;
let undisturbed: Received;

before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "dauys-client-"));
  environment = { DATA_DIR: dataDir, PORT: String(await freePort()), DRAIN_S: "5" };
  service = await startServiceProcess(environment);
  client = new DauysClient({ baseUrl: `http://127.0.0.1:${environment["PORT"]}`, apiKey: service.key });
  undisturbed = await listen(client, DIALOGUE, OPTIONS);
  assert.ok(undisturbed.finals.length >= 4, JSON.stringify(undisturbed.finals));
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
  await rm(dataDir, { recursive: true, force: true });
});

/** Ends the service and restarts it at the same address. */
async function restart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  service.child.kill(signal);
  await once(service.child, "exit");
  service = await startServiceProcess(environment);
}

/** Returns the index of the first piece with audio of this second. */
function pieceAt(seconds: number): number {
  return Math.floor(seconds * 10);
}

const [first, second] = [0, 1].map((index) => () => undisturbed.finals[index] as LiveFinal);

// Each moment leaves a different state: half an utterance, an unfinished pause, or no final at all.
const MOMENTS: readonly { readonly name: string; readonly atPiece: () => number }[] = [
  { name: "before the first final", atPiece: () => pieceAt(first!().end - 0.3) },
  { name: "within the pause after a final", atPiece: () => pieceAt(first!().end + 0.3) },
  {
    name: "in the middle of the second utterance",
    atPiece: () => pieceAt((second!().start + second!().end) / 2),
  },
];

for (const { name, atPiece } of MOMENTS) {
  test(`a service killed ${name} neither loses nor repeats a final`, async () => {
    const statuses: LiveStatus[] = [];
    let back = Promise.resolve();
    const received = await listen(client, DIALOGUE, {
      ...OPTIONS,
      onStatus: (status) => statuses.push(status),
      before: (piece) => {
        // The client keeps sending while the service is down.
        if (piece === atPiece()) back = restart("SIGKILL");
      },
    });
    await back;
    assertSame(received, undisturbed);
    assert.ok(statuses.some(({ type }) => type === "reconnecting"));
    assert.equal(received.done.sessionIds.length, 2);
    assert.equal(received.done.unsettledConnections, 1);
  });
}

test("readable text continues when the service is killed, with every word once", async () => {
  let back = Promise.resolve();
  const { finals, done } = await listen(client, DIALOGUE, {
    ...OPTIONS,
    display: true,
    before: (piece) => {
      if (piece === pieceAt(first!().end + 0.3)) back = restart("SIGKILL");
    },
  });
  await back;
  assert.equal(done.sessionIds.length, 2);
  assert.deepEqual(finals.map(plain).map(rounded), undisturbed.finals.map(rounded));
  for (const [at, { display_before, display_words = [], words = [] }] of finals.entries()) {
    assert.match(display_before ?? "", at === 0 ? /^$/ : /^[.?,:—]? $| — /);
    for (const { start, end, spoken } of display_words) {
      assert.deepEqual([start, end], [words[spoken[0]]?.start, words[spoken[1] - 1]?.end]);
    }
  }
  const sentences = liveSentences(finals, done);
  const text = sentences.map((sentence) => sentence.text).join(" ");
  assert.equal(wordsOf(text), wordsOf(finals.map((final) => final.display_text).join(" ")));
  assert.match(text, /^\p{Lu}.*[.?]$/u);
  assert.doesNotMatch(text, /[.?,]\s?[.?,]|\s\s/);
});

test("a session whose service is killed between close and done is completed by the next one", async () => {
  let back = Promise.resolve();
  const last = Math.floor(DIALOGUE.length / 1_600);
  const received = await listen(client, DIALOGUE, {
    ...OPTIONS,
    pace: 1_000,
    before: (piece) => {
      if (piece === last) back = restart("SIGKILL");
    },
  });
  await back;
  assertSame(received, undisturbed);
});

test("a service that stops in the middle of a word does not split it", async () => {
  let back = Promise.resolve();
  const received = await listen(client, DIALOGUE, {
    ...OPTIONS,
    before: (piece) => {
      if (piece === pieceAt((second!().start + second!().end) / 2)) back = restart("SIGTERM");
    },
  });
  await back;
  assertSame(received, undisturbed);
  assert.equal(received.done.unsettledConnections, 0, "a service that stops says what it charged");
  assert.ok(received.done.creditsCharged >= undisturbed.done.creditsCharged);
});

test("an utterance ended by finalize ends there again after a kill", async () => {
  const middle = pieceAt((second!().start + second!().end) / 2);
  const options = { ...OPTIONS, finalizeBefore: [middle] };
  const whole = await listen(client, DIALOGUE, options);
  assert.equal(whole.finals.length, undisturbed.finals.length + 1);
  let back = Promise.resolve();
  const received = await listen(client, DIALOGUE, {
    ...options,
    before: (piece) => {
      if (piece === middle + 2) back = restart("SIGKILL");
    },
  });
  await back;
  assertSame(received, whole);
});

function assertSame(received: Received, expected: Received): void {
  assert.deepEqual(received.finals.map(rounded), expected.finals.map(rounded));
  assert.equal(received.done.audioSeconds, expected.done.audioSeconds);
  assertOrder(received.results);
}

/** Returns a final without its readable text. */
function plain(final: LiveFinal): LiveFinal {
  const {
    display_text: _text,
    display_before: _before,
    display_words: _words,
    end_of_turn: _end,
    ...rest
  } = final;
  return rest;
}

function wordsOf(text: string): string {
  return text.toLowerCase().replaceAll(/[.,?!:]| —/g, "");
}

/** Checks that the partials of an utterance arrive before its final, and nothing after it. */
function assertOrder(results: readonly LiveResult[]): void {
  let utterance = 0;
  for (const result of results) {
    assert.equal(result.utterance, utterance, JSON.stringify(results));
    if (result.type === "final") utterance++;
  }
}

/** Converts times to whole samples, because sums of seconds differ in their last digits. */
function rounded(final: LiveFinal): unknown {
  const samples = (seconds: number) => Math.round(seconds * 16_000);
  const words = final.words?.map(({ word, start, end }) => [word, samples(start), samples(end)]);
  return { ...final, start: samples(final.start), end: samples(final.end), words };
}
