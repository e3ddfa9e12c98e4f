const HEAD_BYTES = 5;
const NO_BYTES = new Uint8Array(0);

/** Kinds of frames exchanged between a live session and its decoder process. */
export const FRAME = {
  /** To the decoder: encoded bytes. From the decoder: samples. */
  audio: 1,
  /** Returned once everything sent before it was decoded. */
  mark: 2,
  /** From the decoder: an `audio` frame was decoded. */
  taken: 3,
  /** From the decoder: the reason why it ends, as JSON with `code` and `message`. */
  failed: 4,
} as const;

export interface Frame {
  readonly kind: number;
  readonly payload: Uint8Array;
}

/** Encodes a frame: its kind, the length of its payload in four bytes, and the payload. */
export function frameOf(kind: number, payload: Uint8Array = NO_BYTES): Uint8Array {
  const frame = new Uint8Array(HEAD_BYTES + payload.length);
  frame[0] = kind;
  new DataView(frame.buffer).setUint32(1, payload.length, true);
  frame.set(payload, HEAD_BYTES);
  return frame;
}

/** Splits a stream of bytes into frames. */
export class FrameReader {
  readonly #longestBytes: number;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** Number of bytes needed for the next frame, or for its head. */
  #wantedBytes = HEAD_BYTES;

  /** @param longestBytes limit on a payload, because the other process is not trusted */
  constructor(longestBytes: number) {
    this.#longestBytes = longestBytes;
  }

  /** @throws {RangeError} if a payload is longer */
  push(bytes: Uint8Array): Frame[] {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes < this.#wantedBytes) return [];
    const whole = this.#held.length === 1 ? bytes : Buffer.concat(this.#held);
    const view = new DataView(whole.buffer, whole.byteOffset, whole.length);
    const frames: Frame[] = [];
    let at = 0;
    this.#wantedBytes = HEAD_BYTES;
    while (whole.length - at >= HEAD_BYTES) {
      const length = view.getUint32(at + 1, true);
      if (length > this.#longestBytes) throw new RangeError(`a frame has ${length} bytes`);
      this.#wantedBytes = HEAD_BYTES + length;
      if (whole.length - at < this.#wantedBytes) break;
      frames.push({ kind: whole[at]!, payload: whole.subarray(at + HEAD_BYTES, at + this.#wantedBytes) });
      at += this.#wantedBytes;
      this.#wantedBytes = HEAD_BYTES;
    }
    this.#held = at === whole.length ? [] : [whole.subarray(at)];
    this.#heldBytes = whole.length - at;
    return frames;
  }
}
