import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LIVE_RATE_HZ } from "../../core/domain/audio/frame.js";
import { Resampler } from "../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { RAW_EXTENSIONS } from "./audio-file.js";
import { CommandError } from "./command.js";
import { reasonOf } from "./failures.js";
import { requirePipedInput } from "./standard-streams.js";

const CHUNK_MS = 100;
const CHUNK_BYTES = (LIVE_RATE_HZ * 2 * CHUNK_MS) / 1000;

/**
 * Reads 16-bit mono PCM at 16 kHz from a WAV of any rate and layout, or from raw samples in that format.
 *
 * @param source a file, or "-" for standard input, whose format is detected when the first bytes arrive
 * @throws {CommandError} if a file cannot be read or has another format
 */
export async function openLiveAudio(source: string): Promise<AsyncIterable<Buffer>> {
  if (source === "-") {
    requirePipedInput();
    return fromStandardInput();
  }
  if ((await stat(source).catch(() => null))?.isDirectory() === true)
    throw new CommandError(`cannot read ${source}: it is a folder`);
  const bytes = (createReadStream(source) as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const head = await readHead(bytes).catch((error: unknown) => {
    throw new CommandError(`cannot read ${source}: ${reasonOf(error)}`, { cause: error });
  });
  if (head.length === 0) throw new CommandError(`cannot read ${source}: the file is empty`);
  if (isWav(head)) return fromWav(head, bytes);
  if (!RAW_EXTENSIONS.includes(extname(source).toLowerCase())) {
    throw new CommandError(
      `cannot read ${source}: expected a WAV file, or raw 16-bit mono samples at 16 kHz named .pcm or .raw; ` +
        `convert it with \`ffmpeg -i ${JSON.stringify(source)} -f s16le -ac 1 -ar 16000 - | dauys listen -\``,
    );
  }
  return joined(head, bytes);
}

async function* fromStandardInput(): AsyncGenerator<Buffer> {
  const bytes = (process.stdin as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const head = await readHead(bytes);
  if (isWav(head)) yield* fromWav(head, bytes);
  else if (head.length > 0) yield* joined(head, bytes);
}

function isWav(head: Buffer): boolean {
  return head.subarray(0, 4).toString("latin1") === "RIFF";
}

/** Yields chunks of 100 ms, none earlier than real time; slower sources set their own pace. */
export async function* atRealTime(audio: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const startedAtMs = performance.now();
  let sentMs = 0;
  let held: Buffer = Buffer.alloc(0);
  for await (const part of audio) {
    held = Buffer.concat([held, part]);
    while (held.length >= CHUNK_BYTES) {
      const earlyMs = startedAtMs + sentMs - performance.now();
      if (earlyMs > 0) await sleep(earlyMs);
      yield held.subarray(0, CHUNK_BYTES);
      held = held.subarray(CHUNK_BYTES);
      sentMs += CHUNK_MS;
    }
  }
  if (held.length > 0) yield held;
}

async function* fromWav(head: Buffer, bytes: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  const reader = new WavSampleReader();
  let resampler: Resampler | null = null;
  for await (const part of joined(head, bytes)) {
    const samples = reader.push(part);
    const fromHz = reader.header?.sampleRateHz ?? LIVE_RATE_HZ;
    if (fromHz !== LIVE_RATE_HZ) resampler ??= new Resampler({ fromHz, toHz: LIVE_RATE_HZ });
    const atLiveRate = resampler === null ? samples : resampler.push(samples);
    if (atLiveRate.length > 0) yield toPcm16(atLiveRate);
  }
  reader.end();
  const rest = resampler?.flush();
  if (rest !== undefined && rest.length > 0) yield toPcm16(rest);
}

function toPcm16(samples: Float32Array): Buffer {
  const pcm = Buffer.allocUnsafe(samples.length * 2);
  for (let i = 0; i < samples.length; i++) {
    const scaled = Math.round(samples[i]! * 32_768);
    pcm.writeInt16LE(Math.max(-32_768, Math.min(32_767, scaled)), i * 2);
  }
  return pcm;
}

/** Reads at least four bytes, enough to recognize a WAV; fewer if the source is shorter. */
async function readHead(bytes: AsyncIterator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 4) {
    const next = await bytes.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  return head;
}

async function* joined(head: Buffer, bytes: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* { [Symbol.asyncIterator]: () => bytes };
}
