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
/** Bytes of a chunk of one channel. */
const CHUNK_BYTES = (LIVE_RATE_HZ * 2 * CHUNK_MS) / 1000;

/**
 * Reads 16-bit PCM at 16 kHz from a WAV of any rate and layout, or from raw samples in that format. With one
 * channel, mixes all channels of the file; several are interleaved.
 *
 * @param source a file, or "-" for standard input, whose format is detected from its first bytes
 * @throws {CommandError} if a file cannot be read or has another format
 */
export async function openLiveAudio(source: string, channelCount = 1): Promise<AsyncIterable<Buffer>> {
  if (source === "-") {
    requirePipedInput();
    return fromStandardInput(channelCount);
  }
  if ((await stat(source).catch(() => null))?.isDirectory() === true)
    throw new CommandError(`cannot read ${source}: it is a folder`);
  const bytes = (createReadStream(source) as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const head = await readHead(bytes).catch((error: unknown) => {
    throw new CommandError(`cannot read ${source}: ${reasonOf(error)}`, { cause: error });
  });
  if (head.length === 0) throw new CommandError(`cannot read ${source}: the file is empty`);
  if (isWav(head)) return fromWav(head, bytes, channelCount);
  if (!RAW_EXTENSIONS.includes(extname(source).toLowerCase())) {
    throw new CommandError(
      `cannot read ${source}: expected a WAV file, or raw 16-bit mono samples at 16 kHz named .pcm or .raw; ` +
        `convert it with \`ffmpeg -i ${JSON.stringify(source)} -f s16le -ac 1 -ar 16000 - | dauys listen -\``,
    );
  }
  return joined(head, bytes);
}

async function* fromStandardInput(channelCount: number): AsyncGenerator<Buffer> {
  const bytes = (process.stdin as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const head = await readHead(bytes);
  if (isWav(head)) yield* fromWav(head, bytes, channelCount);
  else if (head.length > 0) yield* joined(head, bytes);
}

function isWav(head: Buffer): boolean {
  return head.subarray(0, 4).toString("latin1") === "RIFF";
}

/** Yields chunks of 100 ms, none earlier than in real time. Slower sources set their own pace. */
export async function* atRealTime(audio: AsyncIterable<Buffer>, channelCount = 1): AsyncGenerator<Buffer> {
  const chunkBytes = CHUNK_BYTES * channelCount;
  const startedAtMs = performance.now();
  let sentMs = 0;
  let held: Buffer = Buffer.alloc(0);
  for await (const part of audio) {
    held = Buffer.concat([held, part]);
    while (held.length >= chunkBytes) {
      const earlyMs = startedAtMs + sentMs - performance.now();
      if (earlyMs > 0) await sleep(earlyMs);
      yield held.subarray(0, chunkBytes);
      held = held.subarray(chunkBytes);
      sentMs += CHUNK_MS;
    }
  }
  if (held.length > 0) yield held;
}

async function* fromWav(
  head: Buffer,
  bytes: AsyncIterator<Buffer>,
  channelCount: number,
): AsyncGenerator<Buffer> {
  // Each reader reads one channel, or the mix of all of them.
  const readers = Array.from(
    { length: channelCount },
    (_, channel) => new WavSampleReader(undefined, channelCount === 1 ? undefined : channel),
  );
  let resamplers: readonly Resampler[] | null = null;
  for await (const part of joined(head, bytes)) {
    const [first, ...others] = readers;
    const samples = [first!.push(part)];
    const { header } = first!;
    // Readers would look for channels that do not exist.
    if (header !== null && channelCount > 1 && header.channels !== channelCount)
      throw new CommandError(`the WAV must have ${channelCount} channels, received ${header.channels}`);
    samples.push(...others.map((reader) => reader.push(part)));
    const fromHz = header?.sampleRateHz ?? LIVE_RATE_HZ;
    if (fromHz !== LIVE_RATE_HZ)
      resamplers ??= readers.map(() => new Resampler({ fromHz, toHz: LIVE_RATE_HZ }));
    const atLiveRate = resamplers?.map((resampler, channel) => resampler.push(samples[channel]!)) ?? samples;
    if (atLiveRate[0]!.length > 0) yield toPcm16(atLiveRate);
  }
  for (const reader of readers) reader.end();
  const rest = resamplers?.map((resampler) => resampler.flush());
  if (rest !== undefined && rest[0]!.length > 0) yield toPcm16(rest);
}

/** Interleaves channels of equal length. */
function toPcm16(channels: readonly Float32Array[]): Buffer {
  const count = channels.length;
  const pcm = Buffer.allocUnsafe(channels[0]!.length * count * 2);
  for (const [channel, samples] of channels.entries()) {
    for (let i = 0; i < samples.length; i++) {
      const scaled = Math.round(samples[i]! * 32_768);
      pcm.writeInt16LE(Math.max(-32_768, Math.min(32_767, scaled)), (i * count + channel) * 2);
    }
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
