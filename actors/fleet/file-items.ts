import type { FilePiece, WavSource } from "../../native/threads/protocol.js";
import { WavAudio } from "../../native/transcription/file-audio.js";
import { MAX_PART_BYTES } from "./call-messages.js";

/** Data that a node may request in byte ranges. */
export type Item =
  /** The audio of a file: Int16, mono, at the model's rate, followed by silence. */
  | { readonly source: WavSource; readonly rateHz: number }
  /** The encoder's output for a piece, `[frames, encodedSize]` floats. */
  | { readonly piece: FilePiece; readonly encodedSize: number }
  | { readonly memory: Float32Array | Uint8Array };

/** Samples read before yielding: resampling this many from 44.1 kHz takes a few milliseconds. */
const READ_SAMPLES = 65_536;
const SAMPLE_BYTES = Int16Array.BYTES_PER_ELEMENT;

/** Reads the items of a call at a node's request. */
export class FileBytes {
  readonly #items: readonly Item[];
  readonly #open = new Map<WavSource, Promise<WavAudio>>();

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  /**
   * @throws {RangeError} if the item or range does not exist or is too long; also errors of reading the file
   */
  async read(item: number, start: number, count: number): Promise<Uint8Array> {
    const wanted = this.#items[item];
    if (wanted === undefined) throw new RangeError(`cannot read item ${item} of ${this.#items.length}`);
    // A faulty or foreign node must not control the memory used here.
    const isInside = start >= 0 && count >= 0 && count <= MAX_PART_BYTES;
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(count) || !isInside)
      throw new RangeError(`cannot read ${count} bytes from ${start}: at most ${MAX_PART_BYTES} at a time`);
    if ("source" in wanted) return this.#audio(wanted, start, count);
    if ("piece" in wanted) return encodedBytes(wanted.piece, wanted.encodedSize, start, count);
    const { buffer, byteOffset, byteLength } = wanted.memory;
    // The node must not read the rest of the buffer.
    if (start + count > byteLength)
      throw new RangeError(`cannot read ${count} bytes from ${start}: there are ${byteLength}`);
    return new Uint8Array(buffer, byteOffset + start, count);
  }

  async close(): Promise<void> {
    for (const opening of this.#open.values()) await opening.then((audio) => audio.close()).catch(() => {});
  }

  /** `start` and `count` are even. */
  async #audio({ source, rateHz }: Extract<Item, { source: WavSource }>, start: number, count: number) {
    let opening = this.#open.get(source);
    if (opening === undefined) {
      opening = WavAudio.open(source, rateHz);
      this.#open.set(source, opening);
    }
    const audio = await opening;
    const bytes = new Uint8Array(count);
    const end = (start + count) / SAMPLE_BYTES;
    for (let at = start / SAMPLE_BYTES; at < end; at += READ_SAMPLES) {
      const read = await audio.readPcm({ start: at, end: Math.min(end, at + READ_SAMPLES) });
      bytes.set(read, at * SAMPLE_BYTES - start);
    }
    return bytes;
  }
}

/** Reads bytes of a piece's frames, which may be in several parts of its file. */
function encodedBytes(piece: FilePiece, encodedSize: number, start: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  const frameBytes = encodedSize * Float32Array.BYTES_PER_ELEMENT;
  const fromByte = piece.startFrame * frameBytes + start;
  for (const { encoded, startFrame, endFrame } of piece.parts) {
    const first = Math.max(fromByte, startFrame * frameBytes);
    const last = Math.min(fromByte + count, endFrame * frameBytes);
    if (last <= first) continue;
    bytes.set(new Uint8Array(encoded, first - startFrame * frameBytes, last - first), first - fromByte);
  }
  return bytes;
}
