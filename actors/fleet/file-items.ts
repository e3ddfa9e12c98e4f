import type { FilePiece, WavSource } from "../../native/threads/protocol.js";
import { WavAudio } from "../../native/transcription/file-audio.js";
import { MOST_PART_BYTES } from "./call-messages.js";

/** Something that a node may ask for, byte by byte. */
export type Item =
  /** The audio of a file: Int16, mono, at the model's rate; silence behind its end. */
  | { readonly source: WavSource; readonly rateHz: number }
  /** What the encoder has left of a piece, `[frames, encodedSize]` floats. */
  | { readonly piece: FilePiece; readonly encodedSize: number }
  | { readonly memory: Float32Array | Uint8Array };

/** Read at once, with other work of the thread between: to resample so much of 44.1 kHz takes some milliseconds. */
const READ_SAMPLES = 65_536;
const SAMPLE_BYTES = Int16Array.BYTES_PER_ELEMENT;

/** Bytes of the items of a call, read when a node asks for them. */
export class FileBytes {
  readonly #items: readonly Item[];
  readonly #open = new Map<WavSource, Promise<WavAudio>>();

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  /** @throws {RangeError} for an item that there is not, or bytes that no node should ask for; what reading the file throws */
  async read(item: number, start: number, count: number): Promise<Uint8Array> {
    const wanted = this.#items[item];
    if (wanted === undefined)
      throw new RangeError(`Cannot read item ${item}: there are ${this.#items.length}`);
    // A node that is broken, or is not ours, must not choose how much memory that takes.
    const isInside = start >= 0 && count >= 0 && count <= MOST_PART_BYTES;
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(count) || !isInside)
      throw new RangeError(`Cannot read ${count} bytes from ${start}: at most ${MOST_PART_BYTES} at a time`);
    if ("source" in wanted) return this.#audio(wanted, start, count);
    if ("piece" in wanted) return encodedBytes(wanted.piece, wanted.encodedSize, start, count);
    const { buffer, byteOffset, byteLength } = wanted.memory;
    // What else lies in its buffer is not the node's.
    if (start + count > byteLength)
      throw new RangeError(`Cannot read ${count} bytes from ${start}: there are ${byteLength}`);
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

/** Bytes of a piece's frames, which may lie in several parts of its file. */
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
