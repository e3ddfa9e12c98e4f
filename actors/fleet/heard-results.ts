import type { HeardPart } from "../../native/threads/protocol.js";
import { alignedBytes } from "./call-messages.js";
import { HEARD, type HearDone, type HeardBytes } from "./file-call.js";

/** Gathers the results of a hear call. */
export class HeardResults {
  readonly #reusable: SharedArrayBuffer | null;
  readonly #bytes = new Map<number, Uint8Array>();

  /** @param reusable memory for the encoder's output, used if large enough */
  constructor(reusable: SharedArrayBuffer | null) {
    this.#reusable = reusable;
  }

  /** @throws {RangeError} if the bytes go beyond `byteCount` */
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
    const isEnough = this.#reusable !== null && this.#reusable.byteLength >= byteCount;
    return new Uint8Array(isEnough ? this.#reusable! : new SharedArrayBuffer(byteCount));
  }

  #bytesOf(what: number): Uint8Array {
    return this.#bytes.get(what) ?? new Uint8Array();
  }
}
