import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { errorRates } from "../../../bench/evaluate/error-rates.js";
import { speechAsWavFile } from "../../support/audio.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { momentOfFault } from "../../support/pace.js";
import { SEED } from "../../support/seed.js";
import {
  creditDevelopment,
  type ServiceProcess,
  startServiceProcess,
} from "../../support/service-process.js";
import { type CountingServer, startCounting } from "../url/listeners.js";
import { type Canaries, setCanaries } from "./canaries.js";
import { CLIP_NAMES, ffmpeg, MUTATED_CLIPS, makeClip } from "./clips.js";
import { mutantsOf } from "./mutants.js";
import { decodersOf } from "./processes.js";

const SENTENCE = "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.";
const WORD = await speechAsWavFile("asterisk-ru-core/digits_2.flac");
/** Lossy codecs may change a letter of an uncertain word. */
const MAX_CHARACTER_ERROR_RATE = 0.1;
/**
 * The number of damaged copies of each container. `uploads-damaged.test.ts` sends many more to the decoder
 * alone.
 */
const MUTANTS = Math.max(6, Math.ceil(Number(process.env["UPLOAD_MUTANTS"] ?? 0) / 20));
const CONCURRENCY = 3;

interface Answer {
  readonly status: number;
  readonly text?: string;
  readonly detail?: string;
  readonly audio_seconds?: number;
  readonly sample_rate_in?: number;
}

let service: ServiceProcess;
let dataDir: string;
let clips: string;
/** The path of a WAV that the service synthesized. */
let speech: string;
let expected: Answer;
let server: CountingServer;
let served: Uint8Array = new Uint8Array(0);
let long: Promise<string> | null = null;

before(async () => {
  dataDir = await temporaryFolder();
  clips = await temporaryFolder();
  await mkdir(join(clips, "word"));
  server = await startCounting("127.0.0.1", (_request, response) => response.end(served));
  service = await startServiceProcess({
    DATA_DIR: join(dataDir, "data"),
    URL_FETCH_ALLOW: "127.0.0.1/32",
    FILES_PER_ORG: "1000",
  });
  // A long run of mutants costs more than the free grant.
  await creditDevelopment(service, 1_000_000_000);
  speech = join(clips, "speech.wav");
  await writeFile(speech, await speak());
  expected = await transcribe(await readFile(speech));
  assert.equal(expected.status, 200);
});

after(async () => {
  await server.close();
  assert.equal(await service.stop(), 0, service.output());
});

describe("the same speech in every container", () => {
  for (const name of CLIP_NAMES) {
    test(`${name} has the transcript of its WAV`, async () => {
      const answer = await transcribe(await readFile(await makeClip(name, speech, clips)), name);
      assert.equal(answer.status, 200, answer.detail);
      const { characterErrorRate } = errorRates([{ reference: expected.text!, hypothesis: answer.text! }]);
      assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${answer.text} for ${expected.text}`);
      assert.ok(
        Math.abs(answer.audio_seconds! - expected.audio_seconds!) < 0.14,
        `${answer.audio_seconds} s`,
      );
      const rateHz = name === "stereo44.wav" ? 44_100 : /opus|webm/.test(name) ? 48_000 : 24_000;
      if (!/video|second/.test(name)) assert.equal(answer.sample_rate_in, rateHz);
      await spoolIsEmpty();
    });
  }

  test("audio from a url gives the same result", async () => {
    served = await readFile(await makeClip("speech.m4a", speech, clips));
    const url = encodeURIComponent(`http://127.0.0.1:${server.port}/speech.m4a`);
    const answer = await ask(`/v1/transcribe?url=${url}`);
    assert.equal(answer.status, 200, answer.detail);
    assert.equal(answer.text, expected.text);
    const both = await ask(`/v1/transcribe?url=${url}`, Buffer.from("x"));
    assert.deepEqual(both, { status: 400, detail: "supply exactly one of url, a file part and a raw body" });
    const elsewhere = await ask(`/v1/transcribe?url=${encodeURIComponent("http://127.0.0.2:9000/a.wav")}`);
    assert.equal(elsewhere.status, 400);
    assert.match(elsewhere.detail!, /public addresses/);
    await spoolIsEmpty();
  });
});

test("files that are rejected immediately leave no spooled PCM behind", async () => {
  // The spool of such a file was once deleted while it was still being opened, and appeared afterwards.
  const short = (await readFile(speech)).subarray(0, 44 + 480);
  const answers = await Promise.all(Array.from({ length: 30 }, () => transcribe(short)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([400]));
  await momentOfFault(50);
  await spoolIsEmpty();
});

describe("damaged uploads", () => {
  let canaries: Canaries;
  before(async () => {
    canaries = await setCanaries(clips);
  });
  after(() => canaries.close());

  for (const name of MUTATED_CLIPS) {
    test(`${MUTANTS} mutants of ${name} are transcribed or rejected without leaving anything behind`, {
      timeout: 60_000 + MUTANTS * 3_000,
    }, async (t) => {
      const file = await readFile(await makeClip(name, WORD, join(clips, "word")));
      const donors = await Promise.all(
        MUTATED_CLIPS.map(async (other) => readFile(await makeClip(other, WORD, join(clips, "word")))),
      );
      const mutants = mutantsOf(file, { donors, references: canaries.references }, SEED, MUTANTS);
      const statuses = new Map<number, number>();
      const send = async () => {
        for (const { bytes, wounds } of mutants) {
          const { status, detail } = await transcribe(bytes, name);
          const where = `with PROPERTY_SEED=${SEED}: ${wounds.join(", ")}`;
          assert.ok([200, 400, 413].includes(status), `${status} ${detail} ${where}`);
          assert.doesNotMatch(detail ?? "", /spool|\/tmp|decoder ended/);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, send));
      const counts = [...statuses].map(([status, count]) => `${status}: ${count}`);
      t.diagnostic(`PROPERTY_SEED=${SEED}, ${counts.join(", ")}`);
      // A killed decoder may outlive the response to its upload for a moment.
      await eventually("no decoder runs", () => decodersOf(service.child.pid!).length === 0);
      assert.equal(canaries.isPipeOpen(), false);
      assert.equal(canaries.connections, 0);
      await spoolIsEmpty();
    });
  }

  test("do not harm the service", async () => {
    assert.equal((await transcribe(await readFile(speech))).text, expected.text);
    assert.doesNotMatch(service.output(), /"level":(50|60)/);
  });
});

test("a decoder process ends when its client leaves", async () => {
  // Hours of silence in a small file keep a decoder busy for seconds.
  const abort = new AbortController();
  const answer = fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: new Uint8Array(await readFile(await longClip())),
    signal: abort.signal,
  });
  await eventually("a decoder runs", () => decodersOf(service.child.pid!).length > 0);
  abort.abort();
  await assert.rejects(answer);
  await eventually("no decoder runs", () => decodersOf(service.child.pid!).length === 0);
  await spoolIsEmpty();
});

test("audio longer than two hours is rejected during decoding, however small its file", async () => {
  const answer = await transcribe(await readFile(await longClip()), "long.flac");
  assert.equal(answer.status, 413);
  assert.match(answer.detail!, /at most 2 hours/);
  await spoolIsEmpty();
});

/** Returns a clip of two hours and ten seconds of silence. */
function longClip(): Promise<string> {
  long ??= makeLongClip();
  return long;
}

async function makeLongClip(): Promise<string> {
  const path = join(clips, "long.flac");
  const silence = ["-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono", "-t", "7210"];
  await ffmpeg([...silence, "-c:a", "flac", "-compression_level", "0", path]);
  return path;
}

async function speak(): Promise<Uint8Array> {
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: SENTENCE, nfe: 16 }),
  });
  assert.equal(answer.status, 200);
  return new Uint8Array(await answer.arrayBuffer());
}

async function transcribe(body: Uint8Array, name = "audio.wav"): Promise<Answer> {
  return ask("/v1/transcribe", body, name);
}

async function ask(path: string, body?: Uint8Array, name?: string): Promise<Answer> {
  const answer = await fetch(service.url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.key}`,
      ...(name === undefined ? {} : { "x-filename": name }),
    },
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  });
  return { status: answer.status, ...((await answer.json()) as object) };
}

/** Waits until the uploads are deleted. The response may arrive shortly before that. */
async function spoolIsEmpty(): Promise<void> {
  const folder = join(dataDir, "data", "spool");
  await eventually("the spool is empty", () => readdirSync(folder).length === 0);
}
