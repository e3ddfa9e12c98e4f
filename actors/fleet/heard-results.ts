import type { HeardPart } from "../../native/threads/protocol.js";
import { alignedBytes } from "./call-messages.js";
import { HEARD, type HearDone, type HeardBytes } from "./file-call.js";

/** Gathers what a node has heard in a part of a file. */
export class HeardResults {
  readonly #room: SharedArrayBuffer | null;
  readonly #bytes = new Map<number, Uint8Array>();

  /** @param room memory that may be used again for the encoder's output */
  constructor(room: SharedArrayBuffer | null) {
    this.#room = room;
  }

  /** @throws {RangeError} for bytes beyond their count */
  take(value: unknown): void {
    const { what, byteCount, at, bytes } = value as HeardBytes;
    let all = this.#bytes.get(what);
    if (all === undefined) {
      all = what === HEARD.encoded ? this.#shared(byteCount) : new Uint8Array(byteCount);
      this.#bytes.set(what, all);
    }
    all.set(bytes, at);
  }

  part({ encodedSize, hasState }: HearDone): HeardPart {
    const encoded = this.#bytesOf(HEARD.encoded).buffer as unknown as SharedArrayBuffer;
    const state = {
      values: new Float32Array(alignedBytes(this.#bytesOf(HEARD.stateValues))),
      bytes: this.#bytesOf(HEARD.stateBytes),
    };
    const speech = new Float32Array(alignedBytes(this.#bytesOf(HEARD.speech)));
    const levels = this.#bytes.has(HEARD.levels)
      ? new Float32Array(alignedBytes(this.#bytesOf(HEARD.levels)))
      : null;
    return { speech, levels, encoded, encodedSize, state: hasState ? state : null };
  }

  #shared(byteCount: number): Uint8Array {
    const room = this.#room;
    return new Uint8Array(
      room !== null && room.byteLength >= byteCount ? room : new SharedArrayBuffer(byteCount),
    );
  }

  #bytesOf(what: number): Uint8Array {
    return this.#bytes.get(what) ?? new Uint8Array();
  }
}
