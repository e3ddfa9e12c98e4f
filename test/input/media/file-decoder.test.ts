import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { WavSampleReader } from "../../../core/domain/audio/wav-samples.js";
import { type ErrorCode, ServiceError } from "../../../core/domain/errors.js";
import type { Log } from "../../../core/observe/log.js";
import type { AudioDecoder } from "../../../core/ports/audio-decoder.js";
import {
  type ContainerDecoder,
  ffmpegDecoder,
  LimitedChildren,
} from "../../../src/input/media/container-decoder.js";
import { DecoderPermits, FileDecoder, openDecoder } from "../../../src/input/media/file-decoder.js";
import { speechAsWavFile } from "../../support/audio.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { SEED } from "../../support/seed.js";
import { SILENT } from "../../support/silent-log.js";
import { startCounting } from "../url/listeners.js";
import { type ClipName, ffmpeg, makeClip } from "./clips.js";
import { mutantsOf } from "./mutants.js";

const NEVER = new AbortController().signal;
const SPEECH = await speechAsWavFile("pisets-ru-test/test_sound_ru.flac");
const SPEECH_SECONDS = 3.234;
/**
 * Encoders pad the beginning or the end by a few frames, which some containers do not state. Opus frames are
 * 20 ms long.
 */
const PADDING_SECONDS = 0.14;
/** A number that distinguishes the processes of these tests from others. */
const SLOW_SECONDS = `47.${process.pid}`;
/** The clips that need no decoder process. */
const PLAIN: readonly ClipName[] = ["float.wav", "alaw.wav", "stereo44.wav"];
/** The clips decoded with ffmpeg here. The upload tests of the service cover all containers. */
const IN_FFMPEG: readonly ClipName[] = ["speech.mp3", "streaming.mp4", "rf64.wav", "second-stream.mp4"];
const IN_WASM: readonly ClipName[] = ["speech.mp3", "tagged.mp3", "speech.flac", "opus.ogg"];

let folder: string;
let targets = 0;

before(async () => {
  folder = await temporaryFolder();
});

for (const [program, searchPath, names] of [
  ["ffmpeg", process.env["PATH"] ?? "", [...IN_FFMPEG, ...PLAIN]],
  ["packages alone", "", [...IN_WASM, ...PLAIN]],
] as const) {
  describe(`with ${program}`, () => {
    for (const name of names) {
      test(`${name} becomes a WAV with the same length and sound`, async () => {
        const source = await makeClip(name, SPEECH, folder);
        const target = newTarget();
        const path = await decoderOf(searchPath).decode(source, target, NEVER);
        assert.equal(path, PLAIN.includes(name) ? source : target);
        const { seconds, loudness } = await heard(path);
        assert.ok(Math.abs(seconds - SPEECH_SECONDS) <= PADDING_SECONDS, `${seconds} s`);
        const reference = (await heard(SPEECH)).loudness;
        assert.ok(Math.abs(loudness / reference - 1) < 0.1, `loudness ${loudness}, not ${reference}`);
      });
    }

    test("audio beyond the limit is rejected by its decoded length", async () => {
      for (const name of ["speech.mp3", "speech.flac", "opus.ogg", "stereo44.wav"] as const) {
        const source = await makeClip(name, SPEECH, folder);
        const decoding = decoderOf(searchPath, 2).decode(source, newTarget(), NEVER);
        assert.equal((await refusal(decoding)).code, "AUDIO_TOO_LONG", name);
        await decoderOf(searchPath, SPEECH_SECONDS + PADDING_SECONDS).decode(source, newTarget(), NEVER);
      }
    });

    test("damaged files are rejected without quoting their bytes", async () => {
      for (const head of ["fLaC", "OggS", "ID3\x04\0\0\0\0\0\0"]) {
        const source = join(folder, "damaged");
        await writeFile(source, Buffer.concat([Buffer.from(head, "latin1"), Buffer.alloc(3_000, "secret")]));
        const { code, message } = await refusal(
          decoderOf(searchPath).decode(source, newTarget(), NEVER),
          "AUDIO_UNREADABLE",
        );
        assert.equal(code, "AUDIO_UNREADABLE");
        assert.doesNotMatch(message, /secret|dauys-test/);
      }
    });
  });
}

test("damaged files are also decoded or rejected without ffmpeg", async (t) => {
  t.diagnostic(`PROPERTY_SEED=${SEED}`);
  const count = Math.ceil(Number(process.env["UPLOAD_MUTANTS"] ?? 12) / 3);
  for (const name of ["speech.mp3", "speech.flac", "opus.ogg"] as const) {
    const source = join(folder, "mutant");
    const file = await readFile(await makeClip(name, SPEECH, folder));
    const harm = { donors: [await readFile(SPEECH), file], references: [SPEECH, "http://127.0.0.1:9/a.wav"] };
    for (const { bytes } of mutantsOf(file, harm, SEED, count)) {
      await writeFile(source, bytes);
      await decoderOf("")
        .decode(source, newTarget(), NEVER)
        .catch((error: unknown) =>
          assert.match((error as ServiceError).code, /^AUDIO_(UNREADABLE|TOO_LONG)$/),
        );
    }
  }
});

test("an ffmpeg that does not run counts as missing, with one log line", async () => {
  const broken = await temporaryFolder();
  await writeFile(join(broken, "ffmpeg"), "#!/bin/sh\nexit 127\n", { mode: 0o755 });
  const told: string[] = [];
  const log = { ...SILENT, warn: (_: object, message: string) => told.push(message) } as unknown as Log;
  const decoder = openDecoder({ searchPath: broken, maxSeconds: 60, log });
  assert.deepEqual(told, []);
  const source = await makeClip("speech.flac", SPEECH, folder);
  for (let times = 0; times < 2; times++) {
    const { seconds } = await heard(await decoder.decode(source, newTarget(), NEVER));
    assert.ok(Math.abs(seconds - SPEECH_SECONDS) <= PADDING_SECONDS, `${seconds} s`);
  }
  assert.equal(told.length, 1);
  assert.match(told[0]!, /^ffmpeg does not run: only WAV, MP3/);
});

test("without ffmpeg, the error for other containers names it", async () => {
  for (const name of ["speech.m4a", "speech.webm", "vorbis.ogg", "adpcm.wav"] as const) {
    const source = await makeClip(name, SPEECH, folder);
    const { message } = await refusal(decoderOf("").decode(source, newTarget(), NEVER), "AUDIO_UNREADABLE");
    assert.match(message, /install ffmpeg/);
  }
});

test("a wrong length in a header is ignored", async () => {
  const wav = await readFile(SPEECH);
  const source = join(folder, "claims.wav");
  // The header states four hours, but the file contains three seconds.
  wav.writeUInt32LE(4 * 3_600 * 32_000, wav.indexOf("data") + 4);
  await writeFile(source, wav);
  assert.equal(await decoderOf("", 60).decode(source, newTarget(), NEVER), source);
  // The header states one second, but the file contains three. The decoder stops after one second, as players
  // do.
  const flac = await readFile(await makeClip("speech.flac", SPEECH, folder));
  flac.writeUInt32BE(16_000, 22);
  await writeFile(source, flac);
  const decoding = decoderOf(process.env["PATH"] ?? "", 2).decode(source, newTarget(), NEVER);
  assert.equal((await refusal(decoding)).code, "AUDIO_TOO_LONG");
});

test("a jump of a stream's clock becomes at most a minute", async () => {
  const source = join(folder, "jump.webm");
  await ffmpeg(["-i", SPEECH, "-af", "asetpts=PTS+gt(T\\,1)*5000/TB", "-c:a", "libopus", source]);
  const target = newTarget();
  await decoderOf(process.env["PATH"] ?? "").decode(source, target, NEVER);
  const { seconds } = await heard(target);
  assert.ok(Math.abs(seconds - 60 - SPEECH_SECONDS) < PADDING_SECONDS, `${seconds} s`);
});

test("gaps in a stream's clock become silence", async () => {
  const source = join(folder, "gap.webm");
  await ffmpeg(["-i", SPEECH, "-af", "aselect='not(between(t,1,2))'", "-c:a", "libopus", source]);
  const target = newTarget();
  await decoderOf(process.env["PATH"] ?? "").decode(source, target, NEVER);
  const { seconds } = await heard(target);
  assert.ok(Math.abs(seconds - SPEECH_SECONDS) < PADDING_SECONDS, `${seconds} s`);
});

describe("files that refer to other files", () => {
  test("never make the decoder open another file or an address", async () => {
    const other = await makeClip("speech.mp3", SPEECH, folder);
    const server = await startCounting("127.0.0.1", (_request, response) => response.end());
    const address = `http://127.0.0.1:${server.port}/a.ts`;
    const tricks: Readonly<Record<string, string>> = {
      "hls.m3u8": `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n${address}\n#EXTINF:10,\nfile://${other}\n`,
      "hls-map.m3u8": `#EXTM3U\n#EXT-X-MAP:URI="${address}"\n#EXT-X-KEY:METHOD=AES-128,URI="${address}"\n`,
      "list.ffconcat": `ffconcat version 1.0\nfile '${other}'\nfile '${address}'\n`,
      "dash.mpd": `<?xml version="1.0"?><MPD><BaseURL>${address}</BaseURL></MPD>`,
      "picture.svg": `<svg xmlns:xlink="x"><image xlink:href="${address}"/></svg>`,
      "a.pls": `[playlist]\nFile1=${address}\n`,
      "a.sdp": `v=0\nc=IN IP4 127.0.0.1\nm=audio ${server.port} RTP/AVP 0\n`,
      "a.asx": `<asx><entry><ref href="${address}"/></entry></asx>`,
      "tagged.m3u8": `ID3\x04\0\0\0\0\0\0#EXTM3U\n#EXTINF:1,\n${address}\n`,
      "page.ogg": `OggS#EXTM3U\n#EXTINF:1,\n${address}\n`,
      "box.mp4": `\0\0\0\x08free#EXTM3U\n#EXTINF:1,\nfile://${other}\n`,
    };
    for (const [name, text] of Object.entries(tricks)) {
      const source = join(folder, name);
      await writeFile(source, text, "latin1");
      await refusal(
        decoderOf(process.env["PATH"] ?? "").decode(source, newTarget(), NEVER),
        "AUDIO_UNREADABLE",
      );
    }
    assert.equal(server.connections, 0);
    await server.close();
  });

  test("an MP4 whose data reference names another file is not followed", async () => {
    const whole = await readFile(await makeClip("speech.m4a", SPEECH, folder));
    const other = await makeClip("alac.m4a", SPEECH, folder);
    // "url " with flag 1 refers to the file itself; the flag is cleared and the type changed to an alias of
    // another file.
    const at = whole.indexOf("url ");
    assert.ok(at > 0);
    whole.write("alis", at);
    whole[at + 7] = 0;
    const source = join(folder, "alias.m4a");
    await writeFile(source, Buffer.concat([whole, Buffer.from(other)]));
    const decoding = decoderOf(process.env["PATH"] ?? "").decode(source, newTarget(), NEVER);
    // The decoder must give the file's own samples or reject the file. The other file would be lossless and
    // longer.
    await decoding.catch((error: unknown) => assert.equal((error as ServiceError).code, "AUDIO_UNREADABLE"));
  });
});

describe("a decoder process", () => {
  test("ends with its child processes as soon as its client leaves", async () => {
    const children = new LimitedChildren();
    const decoder = fileDecoder(ffmpegDecoder(await slowProgram(), children));
    const abort = new AbortController();
    const source = await makeClip("speech.mp3", SPEECH, folder);
    const decoding = refusal(decoder.decode(source, newTarget(), abort.signal));
    await eventually("a decoder runs", () => children.running > 0 && slowProcesses() > 0);
    abort.abort();
    assert.equal((await decoding).code, "CANCELLED");
    assert.equal(children.running, 0);
    assert.equal(slowProcesses(), 0);
  });

  test("does not outlive a service that is killed", async () => {
    const program = fileURLToPath(new URL("./decoder-owner.js", import.meta.url));
    const owner = spawn(process.execPath, [program, SLOW_SECONDS], { stdio: "ignore" });
    await eventually("a decoder runs", () => slowProcesses() > 0);
    owner.kill("SIGKILL");
    await eventually("the decoder is gone", () => slowProcesses() === 0);
  });

  test("waits for a free permit until its client leaves", async () => {
    const children = new LimitedChildren();
    const decoder = fileDecoder(ffmpegDecoder(await slowProgram(), children));
    const source = await makeClip("speech.mp3", SPEECH, folder);
    const aborts = Array.from({ length: 4 }, () => new AbortController());
    const decodings = aborts.map((abort) => refusal(decoder.decode(source, newTarget(), abort.signal)));
    await eventually("a decoder runs", () => slowProcesses() > 0);
    assert.equal(children.running, 1);
    aborts[2]!.abort();
    assert.equal((await decodings[2]!).code, "CANCELLED");
    assert.equal(children.running, 1);
    for (const abort of aborts) abort.abort();
    await Promise.all(decodings);
    assert.equal(children.running, 0);
    assert.equal(slowProcesses(), 0);
  });

  test("ends at its limits of CPU, time, memory and output", async () => {
    const children = new LimitedChildren();
    const limits = { cpuSeconds: 20, wallMs: 20_000, memoryBytes: 1 << 28, fileBytes: 1 << 20 };
    const run = (script: string, changed: Partial<typeof limits>) =>
      children.run(["sh", "-c", script], { ...limits, ...changed }, NEVER);
    const spinning = await run("while :; do :; done", { cpuSeconds: 1 });
    assert.match(spinning.signal ?? "", /^SIG(KILL|XCPU)$/);
    assert.equal((await run("exec sleep 30", { wallMs: 100 })).isTimedOut, true);
    const target = newTarget();
    const writing = await run(`exec head -c 5000000 /dev/zero > ${target}`, {});
    assert.ok(writing.code !== 0, "a longer file cannot be written");
    assert.ok((await readFile(target)).length <= 1 << 20);
    assert.notEqual((await run("exec head -c 900m /dev/zero | tail -c 800m > /dev/null", {})).code, 0);
    assert.equal((await run("true", {})).code, 0);
    assert.equal(children.running, 0);
  });

  test("gets none of the service's settings", async () => {
    process.env["DEV_API_KEY"] = "sk-svc-secret";
    const target = newTarget();
    const limits = { cpuSeconds: 5, wallMs: 5_000, memoryBytes: null, fileBytes: 1 << 20 };
    await new LimitedChildren().run(["sh", "-c", `env > ${target}`], limits, NEVER);
    delete process.env["DEV_API_KEY"];
    const environment = await readFile(target, "utf8");
    assert.match(environment, /PATH=/);
    assert.doesNotMatch(environment, /secret/);
  });
});

/** Returns a new decoder for each place and length, because each decoder tries its ffmpeg first. */
function decoderOf(searchPath: string, maxSeconds = 7_200): AudioDecoder {
  const name = `${maxSeconds} ${searchPath}`;
  const decoder = decoders.get(name) ?? openDecoder({ searchPath, maxSeconds, log: SILENT });
  decoders.set(name, decoder);
  return decoder;
}

const decoders = new Map<string, AudioDecoder>();

function fileDecoder(decoder: ContainerDecoder): FileDecoder {
  return new FileDecoder({ decoder, permits: new DecoderPermits(1), maxSeconds: 7_200 });
}

function newTarget(): string {
  return join(folder, `target-${targets++}.wav`);
}

/** A program that accepts ffmpeg's arguments and never ends. */
async function slowProgram(): Promise<string> {
  const path = join(folder, "slow-ffmpeg");
  const file = await open(path, "w", 0o755);
  await file.write(`#!/bin/sh\nexec sleep ${SLOW_SECONDS}\n`);
  await file.close();
  return path;
}

/** The number of these programs that are running, as seen from outside. */
function slowProcesses(): number {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.filter((id) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, "latin1").startsWith(`sleep\0${SLOW_SECONDS}\0`);
    } catch {
      // The process ended between the two reads.
      return false;
    }
  }).length;
}

async function heard(path: string): Promise<{ readonly seconds: number; readonly loudness: number }> {
  const bytes = await readFile(path);
  const reader = new WavSampleReader(bytes.length);
  const samples = reader.push(bytes);
  const energy = samples.reduce((total, sample) => total + sample * sample, 0);
  const seconds = samples.length / reader.header!.sampleRateHz;
  return { seconds, loudness: Math.sqrt(energy / samples.length) };
}

async function refusal(decoding: Promise<string>, code?: ErrorCode): Promise<ServiceError> {
  const thrown: unknown = await decoding.then(
    (path) => assert.fail(`decoded to ${path}`),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof ServiceError, String(thrown));
  if (code !== undefined) assert.equal(thrown.code, code, thrown.message);
  return thrown;
}
