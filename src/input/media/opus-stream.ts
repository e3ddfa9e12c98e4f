import { OpusDecoder } from "opus-decoder";
import { joinedBytes } from "../../../core/domain/audio/pcm.js";
import { type OggPage, OggPages } from "./ogg-pages.js";

const RATE_HZ = 48_000;
/** Unit of the gain in a stream's header. */
const STEPS_PER_DECIBEL = 256;
/** Longest packet that the decoder accepts, per channel: 120 ms at 256 kbit/s. */
const PACKET_BYTES_PER_CHANNEL = 3_840;

export interface OpusSamples {
  readonly channelData: readonly Float32Array[];
  readonly samplesDecoded: number;
  readonly sampleRate: number;
}

/** Decodes Ogg Opus as its bytes arrive. A file may be a chain of streams. @see RFC 7845 */
export class OpusStream {
  readonly #pages = new OggPages();
  #link: Link | null = null;

  async push(bytes: Uint8Array): Promise<OpusSamples[]> {
    const samples: OpusSamples[] = [];
    for (const page of this.#pages.push(bytes)) samples.push(...(await this.#read(page)));
    return samples;
  }

  /** Returns the samples that were held back in case the stream ended there. */
  end(): OpusSamples[] {
    return this.#link?.rest() ?? [];
  }

  async #read(page: OggPage): Promise<OpusSamples[]> {
    const head =
      page.isFirst && (this.#link === null || this.#link.hasAudio) ? opusHead(page.packets[0]) : null;
    if (head === null) return this.#link?.serial === page.serial ? this.#link.read(page) : [];
    const rest = this.end();
    const before = this.#link;
    this.#link = await Link.open(head, page.serial);
    before?.free();
    return rest;
  }
}

export interface OpusHead {
  readonly channels: number;
  readonly preSkip: number;
  readonly gain: number;
  readonly layout: { readonly streams: number; readonly coupled: number; readonly mapping: number[] } | null;
}

/** Parses the identification header of an Opus stream, which WebM contains too; null if it is not one. */
export function opusHead(packet: Uint8Array | undefined): OpusHead | null {
  if (packet === undefined || packet.length < 19 || !beginsWith(packet, "OpusHead")) return null;
  const view = new DataView(packet.buffer, packet.byteOffset);
  const channels = packet[9]!;
  const isPlain = packet[18] === 0;
  // A stream without its channel mapping cannot be decoded.
  if (channels === 0 || (isPlain ? channels > 2 : packet.length < 21 + channels)) return null;
  return {
    channels,
    preSkip: view.getUint16(10, true),
    gain: 10 ** (view.getInt16(16, true) / STEPS_PER_DECIBEL / 20),
    layout: isPlain
      ? null
      : { streams: packet[19]!, coupled: packet[20]!, mapping: [...packet.subarray(21, 21 + channels)] },
  };
}

class Link {
  readonly serial: number;
  readonly #head: OpusHead;
  readonly #decoder: OpusDecoder;
  /** Samples of the last page. Only the next page shows whether all of them belong to the stream. */
  #kept: OpusSamples[] = [];
  readonly #packets = new PagePackets();
  #toSkip: number;
  /** Number of decoded samples, including skipped ones. */
  #decoded = 0;
  /** Granule at the start of the stream; above 0 if the recording starts in the middle of a broadcast. */
  #startGranule: number | null = null;

  private constructor(head: OpusHead, serial: number, decoder: OpusDecoder) {
    this.#head = head;
    this.serial = serial;
    this.#decoder = decoder;
    this.#toSkip = head.preSkip;
  }

  static async open(head: OpusHead, serial: number): Promise<Link> {
    const { channels, layout } = head;
    const decoder = new OpusDecoder({
      channels,
      ...(layout !== null && {
        streamCount: layout.streams,
        coupledStreamCount: layout.coupled,
        channelMappingTable: layout.mapping,
      }),
    });
    await decoder.ready;
    return new Link(head, serial, decoder);
  }

  get hasAudio(): boolean {
    return this.#decoded > 0;
  }

  /** Returns the samples that are certain to belong to the stream. */
  read(page: OggPage): OpusSamples[] {
    const before = this.#decoded;
    const fresh = this.#packets.of(page).flatMap((packet) => this.#decode(packet));
    if (page.granule !== null && this.#decoded > before)
      this.#startGranule ??= page.isLast ? 0 : Math.max(0, page.granule - this.#decoded);
    if (!page.isLast) {
      const certain = this.#kept;
      this.#kept = fresh;
      return certain;
    }
    this.#kept.push(...fresh);
    if (page.granule !== null) this.#trim(this.#decoded - (page.granule - (this.#startGranule ?? 0)));
    return this.rest();
  }

  rest(): OpusSamples[] {
    return this.#kept.splice(0);
  }

  free(): void {
    this.#decoder.free();
  }

  #decode(packet: Uint8Array): OpusSamples[] {
    if (packet.length > PACKET_BYTES_PER_CHANNEL * this.#head.channels) return [];
    const { channelData, samplesDecoded } = this.#decoder.decodeFrame(packet);
    this.#decoded += samplesDecoded;
    const skipped = Math.min(this.#toSkip, samplesDecoded);
    this.#toSkip -= skipped;
    if (samplesDecoded === skipped) return [];
    return [cut(amplified(channelData, this.#head.gain), skipped, samplesDecoded)];
  }

  /** Removes the last `surplus` samples, which pad the last packet. */
  #trim(surplus: number): void {
    let left = surplus;
    while (left > 0) {
      const last = this.#kept.pop();
      if (last === undefined) return;
      const kept = last.samplesDecoded - left;
      if (kept > 0) this.#kept.push(cut(last.channelData, 0, kept));
      left -= last.samplesDecoded;
    }
  }
}

/** Joins the packets of one stream, which may span several pages, and drops its headers. */
export class PagePackets {
  #open: Uint8Array = new Uint8Array(0);

  /** Returns the packets that this page completes. */
  of({ packets, isContinued, isOpen }: OggPage): Uint8Array[] {
    const whole = [...packets];
    // Drop the rest of a packet whose start was lost.
    if (isContinued)
      whole[0] = this.#open.length === 0 ? whole[0]!.subarray(0, 0) : joinedBytes(this.#open, whole[0]!);
    this.#open = isOpen ? whole.pop()! : new Uint8Array(0);
    return whole.filter((packet) => packet.length > 0 && !isHeader(packet));
  }
}

function isHeader(packet: Uint8Array): boolean {
  return beginsWith(packet, "OpusTags") || beginsWith(packet, "OpusHead");
}

function beginsWith(bytes: Uint8Array, text: string): boolean {
  return String.fromCharCode(...bytes.subarray(0, text.length)) === text;
}

function amplified(channelData: readonly Float32Array[], gain: number): readonly Float32Array[] {
  return gain === 1 ? channelData : channelData.map((channel) => channel.map((sample) => sample * gain));
}

function cut(channelData: readonly Float32Array[], from: number, to: number): OpusSamples {
  const channels = channelData.map((channel) => channel.subarray(from, to));
  return { channelData: channels, samplesDecoded: to - from, sampleRate: RATE_HZ };
}
