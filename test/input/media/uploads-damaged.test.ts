import assert from "node:assert/strict";
import { createReadStream, readdirSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WavSampleReader } from "../../../core/domain/audio/wav-samples.js";
import { asServiceError } from "../../../core/domain/errors.js";
import type { AudioDecoder } from "../../../core/ports/audio-decoder.js";
import { HTTP_STATUS } from "../../../core/protocol/error-status.js";
import {
  DECODE_LIMITS,
  LimitedChildren,
  OVERTIME_SECONDS,
} from "../../../src/input/media/container-decoder.js";
import { openDecoder } from "../../../src/input/media/file-decoder.js";
import { speechAsWavFile } from "../../support/audio.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { SEED } from "../../support/seed.js";
import { SILENT } from "../../support/silent-log.js";
import { type Canaries, setCanaries } from "./canaries.js";
import { MUTATED_CLIPS, makeClip } from "./clips.js";
import { type Mutant, mutantOf, mutantsOf } from "./mutants.js";
import { childrenOf } from "./processes.js";

// The damaged files go through the service's own decoder: the container detection, the limited child process,
// and the reader of its output. The service around the decoder would add half as much time, so
// `uploads.test.ts` sends only a few files through it.

const WORD = await speechAsWavFile("asterisk-ru-core/digits_2.flac");
/** The number of damaged copies of each container: the gate's number, or as requested. */
const MUTANTS = Number(process.env["UPLOAD_MUTANTS"] ?? 12);
/** The number of decoders that run at a time on a small machine. More would only wait. */
const CONCURRENCY = 2;
const MAX_SECONDS = 7_200;
/** A damaged word takes a tenth of a second, or some seconds if it has become two hours of silence. */
const LONGEST_DECODE_MS = 120_000;
/** The size of a WAV with the longest audio at the highest rate, including its header. */
const LONGEST_OUTPUT_BYTES = DECODE_LIMITS.fileBytes;

const clips = new Map<string, Uint8Array>();
/** The folder contains only sources, outputs and the pipe. */
let folder: string;
let canaries: Canaries;
let decoder: AudioDecoder;
let files = 0;

before(async () => {
  const clipFolder = await temporaryFolder();
  for (const name of MUTATED_CLIPS) clips.set(name, await readFile(await makeClip(name, WORD, clipFolder)));
  folder = join(await temporaryFolder(), "spool");
  await mkdir(folder);
  canaries = await setCanaries(folder);
  const log = SILENT;
  decoder = await withoutNameSpaces(async () =>
    openDecoder({ searchPath: process.env["PATH"] ?? "", maxSeconds: MAX_SECONDS, log }),
  );
});
after(() => canaries.close());

test("the canaries detect any access", async () => {
  const own = await setCanaries(await temporaryFolder());
  const children = await withoutNameSpaces(async () => new LimitedChildren());
  const limits = { cpuSeconds: 10, wallMs: 60_000, memoryBytes: 1 << 30, fileBytes: 1 << 20 };
  const never = new AbortController().signal;
  assert.equal(own.isPipeOpen(), false);
  const abort = new AbortController();
  // ffmpeg itself would follow references, as the same program shows without the service's allow lists.
  const list = join(folder, "list.ffconcat");
  await writeFile(list, `ffconcat version 1.0\nfile '${own.pipe}'\n`);
  const input = ["-f", "concat", "-safe", "0", "-i", list, "-f", "null", "-"];
  const caught = children.run(["ffmpeg", "-nostdin", "-v", "error", ...input], limits, abort.signal);
  await eventually("ffmpeg is seen at the pipe", () => own.isPipeOpen(), limits.wallMs);
  abort.abort();
  await assert.rejects(caught);
  await rm(list);
  await children.run(["ffmpeg", "-nostdin", "-i", `http://${own.address}/a.wav`], limits, never);
  assert.ok(own.connections > 0);
  await own.close();
});

test("a seed and a number always give the same damage", () => {
  const file = clips.get("speech.m4a")!;
  const all = [...mutantsOf(file, harm(), 7, 300)];
  assert.deepEqual(mutantOf(file, harm(), 7, 250), all[250]);
  assert.ok(all.filter(({ bytes }) => Buffer.compare(bytes, file) !== 0).length > 290);
  assert.equal(new Set(all.flatMap(({ wounds }) => wounds)).size, 16, "every kind of wound is dealt");
});

describe("damaged files", () => {
  for (const [place, name] of MUTATED_CLIPS.entries()) {
    // Without a different seed for each container, the same number would damage all of them in the same way.
    const seed = SEED + place;
    test(`${MUTANTS} mutants of ${name} are decoded or rejected without touching anything else`, {
      timeout: 120_000 + MUTANTS * 3_000,
    }, async (t) => {
      const mutants = mutantsOf(clips.get(name)!, harm(), seed, MUTANTS);
      const statuses = new Map<string, number>();
      let slowestMs = 0;
      let index = 0;
      const decodeRest = async () => {
        for (const mutant of mutants) {
          const where = `mutant ${index++} of ${name}, PROPERTY_SEED=${SEED}: ${mutant.wounds.join(", ")}`;
          const startMs = performance.now();
          const outcome = await outcomeOf(mutant, where);
          slowestMs = Math.max(slowestMs, performance.now() - startMs);
          statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
          // A reader of the pipe would still be blocked at this point, so this check is early enough.
          assert.equal(canaries.isPipeOpen(), false, `a file was opened, during ${where}`);
          assert.equal(canaries.connections, 0, `an address was called, during ${where}`);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, decodeRest));
      t.diagnostic(`PROPERTY_SEED=${SEED}, slowest ${Math.round(slowestMs)} ms`);
      t.diagnostic([...statuses].map(([outcome, count]) => `${outcome}: ${count}`).join(", "));
      assert.deepEqual(childrenOf(process.pid), []);
      assert.deepEqual(readdirSync(folder), ["canary.wav"]);
    });
  }
});

function harm() {
  return { donors: [...clips.values()], references: canaries.references };
}

/** Returns the service's status for the file, and whether the file needed a process. */
async function outcomeOf({ bytes }: Mutant, where: string): Promise<string> {
  const source = join(folder, `${files}.upload`);
  const target = join(folder, `${files++}.wav`);
  await writeFile(source, bytes);
  try {
    const path = await decoder.decode(source, target, AbortSignal.timeout(LONGEST_DECODE_MS));
    await readThrough(path);
    return path === source ? "200 as it is" : "200";
  } catch (thrown) {
    const { code, message } = asServiceError(thrown);
    const status = HTTP_STATUS[code];
    assert.ok(status === 400 || status === 413, `${code} ${message} ${String(thrown)} from ${where}`);
    assert.ok(!message.includes(folder) && !message.includes("canary"), `${message} from ${where}`);
    return message.includes("received something else") ? `${status} unknown` : `${status}`;
  } finally {
    await rm(source);
    await rm(target, { force: true });
  }
}

/** Reads the output in the same way as a file worker. */
async function readThrough(path: string): Promise<void> {
  const { size } = await stat(path);
  assert.ok(size <= LONGEST_OUTPUT_BYTES);
  const reader = new WavSampleReader(size);
  for await (const bytes of createReadStream(path)) reader.push(bytes as Uint8Array);
  reader.end();
  const seconds = reader.sampleCount / reader.header!.sampleRateHz;
  assert.ok(seconds <= MAX_SECONDS + OVERTIME_SECONDS, `${seconds} s`);
}

/**
 * Creates decoders as on a system without network namespaces, where only ffmpeg's arguments keep it from the
 * listener.
 */
async function withoutNameSpaces<T>(make: () => Promise<T>): Promise<T> {
  const bin = await temporaryFolder();
  await writeFile(join(bin, "unshare"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const path = process.env["PATH"] ?? "";
  process.env["PATH"] = `${bin}:${path}`;
  try {
    return await make();
  } finally {
    process.env["PATH"] = path;
  }
}
