import type { Demuxer, OpusPart } from "./demuxer.js";
import { NoOpus } from "./demuxer.js";
import { type OggPage, OggPages } from "./ogg-pages.js";
import { packetSamples } from "./opus-packets.js";
import { opusHead, PagePackets } from "./opus-stream.js";

/** Limits memory: parsed pages of one-byte packets take a hundred times their size. */
const PIECE_BYTES = 4_096;

/**
 * Finds the packets of an Ogg Opus stream without holding any back, unlike `OpusStream`, which waits for the
 * next page.
 * @see RFC 7845
 */
export class LiveOgg implements Demuxer {
  readonly #pages = new OggPages();
  #link: { readonly serial: number; readonly packets: PagePackets } | null = null;
  /** Samples in the stream so far, at 48 kHz. */
  #samples = 0;
  /** Granule at the start of the stream; above 0 if the recording starts in the middle of a broadcast. */
  #startGranule: number | null = null;

  *push(bytes: Uint8Array): Iterable<OpusPart> {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      for (const page of this.#pages.push(bytes.subarray(at, at + PIECE_BYTES))) yield* this.#read(page);
  }

  *#read(page: OggPage): Iterable<OpusPart> {
    if (page.isFirst && (this.#link === null || this.#samples > 0)) {
      const [head] = page.packets;
      if (opusHead(head) !== null) {
        this.#link = { serial: page.serial, packets: new PagePackets() };
        this.#samples = 0;
        this.#startGranule = null;
        yield { type: "head", head: head! };
        return;
      }
    }
    if (this.#link === null && !page.isFirst)
      throw new NoOpus("live Ogg must have an Opus stream, received other codecs");
    if (this.#link?.serial !== page.serial) return;
    const packets = this.#link.packets.of(page);
    const dropped = this.#surplus(page, packets);
    for (const [index, packet] of packets.entries())
      yield { type: "packet", packet, dropped: index === packets.length - 1 ? dropped : 0 };
  }

  /** Returns how many samples of a last page are padding. */
  #surplus({ granule, isLast }: OggPage, packets: readonly Uint8Array[]): number {
    this.#samples += packets.reduce((sum, packet) => sum + packetSamples(packet), 0);
    if (granule === null || packets.length === 0) return 0;
    this.#startGranule ??= isLast ? 0 : Math.max(0, granule - this.#samples);
    return isLast ? Math.max(0, this.#samples - (granule - this.#startGranule)) : 0;
  }
}
