import { OpusDecoder } from "opus-decoder";
import { NoOpus } from "./demuxer.js";
import type { OpusHead } from "./opus-stream.js";

/** Unit of pre-skip, padding and durations, whatever the decoder's rate. */
const OPUS_RATE_HZ = 48_000;
/** Longest packet that the decoder accepts, per channel: 120 ms at 256 kbit/s. */
const PACKET_BYTES_PER_CHANNEL = 3_840;
/** Microphones have one or two channels; more would only multiply the work. */
const MOST_CHANNELS = 8;

/** Decodes Opus packets one by one to mono. */
export class OpusPackets {
  readonly #decoder: OpusDecoder<16_000>;
  readonly #channels: number;
  readonly #gain: number;
  readonly #rateHz: number;
  #toSkip: number;

  private constructor(decoder: OpusDecoder<16_000>, head: OpusHead, channels: number, rateHz: number) {
    this.#decoder = decoder;
    this.#channels = channels;
    this.#gain = head.gain;
    this.#rateHz = rateHz;
    this.#toSkip = this.#scaled(head.preSkip);
  }

  /** Opens a decoder. @throws {NoOpus} if there are more channels than microphones have */
  static async open(head: OpusHead, rateHz: 16_000): Promise<OpusPackets> {
    const { layout } = head;
    if (head.channels > MOST_CHANNELS)
      throw new NoOpus(`live audio must have at most ${MOST_CHANNELS} channels, received ${head.channels}`);
    // Without a mapping, libopus itself mixes two channels into one, at half the cost.
    const channels = layout === null ? 1 : head.channels;
    const decoder = new OpusDecoder({
      channels,
      sampleRate: rateHz,
      ...(layout !== null && {
        streamCount: layout.streams,
        coupledStreamCount: layout.coupled,
        channelMappingTable: layout.mapping,
      }),
    });
    await decoder.ready;
    return new OpusPackets(decoder, head, channels, rateHz);
  }

  /**
   * Returns the samples of a packet; none if it is damaged.
   * @param dropped number of samples at its end that do not belong to the stream, at 48 kHz
   */
  decode(packet: Uint8Array, dropped = 0): Float32Array {
    if (packet.length > PACKET_BYTES_PER_CHANNEL * this.#channels) return new Float32Array(0);
    const { channelData, samplesDecoded } = this.#decoder.decodeFrame(packet);
    const start = Math.min(this.#toSkip, samplesDecoded);
    this.#toSkip -= start;
    const end = Math.max(start, samplesDecoded - this.#scaled(dropped));
    const mono = new Float32Array(end - start);
    for (let i = 0; i < mono.length; i++) {
      let sum = 0;
      for (const channel of channelData) sum += channel[start + i]!;
      mono[i] = (sum / channelData.length) * this.#gain;
    }
    return mono;
  }

  free(): void {
    this.#decoder.free();
  }

  #scaled(samples: number): number {
    return Math.round((samples * this.#rateHz) / OPUS_RATE_HZ);
  }
}

/** Returns the duration of a packet in samples at 48 kHz, from its first two bytes. @see RFC 6716, 3.1 */
export function packetSamples(packet: Uint8Array): number {
  const [toc = 0, count = 0] = packet;
  const config = toc >> 3;
  const samples =
    config < 12
      ? [480, 960, 1_920, 2_880][config & 3]!
      : config < 16
        ? [480, 960][config & 1]!
        : [120, 240, 480, 960][config & 3]!;
  const code = toc & 3;
  return samples * (code === 0 ? 1 : code === 3 ? count & 0x3f : 2);
}
