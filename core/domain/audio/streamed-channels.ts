import { joinedBytes } from "./pcm.js";
import { type StreamedFormat, StreamedPcm } from "./streamed-pcm.js";

const SAMPLE_BYTES: Readonly<Record<StreamedFormat, number>> = { linear16: 2, mulaw: 1, alaw: 1 };
const NO_BYTES = new Uint8Array(0);

/** Converts raw interleaved samples of a live client to interleaved 16-bit PCM, each channel by itself. */
export class StreamedChannels {
  readonly #streams: readonly StreamedPcm[];
  readonly #sampleBytes: number;
  /** The start of a block whose end has not arrived yet. */
  #held: Uint8Array = NO_BYTES;

  /** @param rates as in `StreamedPcm` */
  constructor(
    format: StreamedFormat,
    count: number,
    rates: { readonly fromHz: number; readonly toHz: number },
  ) {
    const { fromHz, toHz } = rates;
    this.#streams = Array.from({ length: count }, () => new StreamedPcm(format, fromHz, toHz));
    this.#sampleBytes = SAMPLE_BYTES[format];
  }

  /** Accepts bytes in any chunking; they are copied. */
  push(bytes: Uint8Array): Int16Array {
    const [only, ...others] = this.#streams;
    if (others.length === 0) return only!.push(bytes);
    const joined = this.#held.length === 0 ? bytes : joinedBytes(this.#held, bytes);
    const blockBytes = this.#sampleBytes * this.#streams.length;
    const blockCount = Math.floor(joined.length / blockBytes);
    this.#held = Uint8Array.from(joined.subarray(blockCount * blockBytes));
    return interleaved(
      this.#streams.map((stream, channel) => stream.push(this.#channelOf(joined, channel, blockCount))),
    );
  }

  /** Ends the stream. Returns samples that `push` has not returned, if any. */
  flush(): Int16Array {
    return interleaved(this.#streams.map((stream) => stream.flush()));
  }

  #channelOf(blocks: Uint8Array, channel: number, blockCount: number): Uint8Array {
    const width = this.#sampleBytes;
    const own = new Uint8Array(blockCount * width);
    for (let block = 0; block < blockCount; block++) {
      const from = (block * this.#streams.length + channel) * width;
      for (let byte = 0; byte < width; byte++) own[block * width + byte] = blocks[from + byte]!;
    }
    return own;
  }
}

function interleaved(channels: readonly Int16Array[]): Int16Array {
  const [first, ...others] = channels;
  if (others.length === 0) return first!;
  const samples = new Int16Array(first!.length * channels.length);
  for (const [channel, own] of channels.entries())
    for (let i = 0; i < own.length; i++) samples[i * channels.length + channel] = own[i]!;
  return samples;
}
