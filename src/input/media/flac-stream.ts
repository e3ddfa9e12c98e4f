import { id3Bytes } from "../../../core/domain/audio/container.js";
import { joinedBytes } from "../../../core/domain/audio/pcm.js";
import {
  decodeFlacFrame,
  FlacBits,
  type FlacFrame,
  type FlacStreamInfo,
  isFlacSync,
  NeedsMoreBytes,
} from "./flac-frame.js";

/** Size of the longest frame: 65,535 samples of 8 channels with 33 bits each, and its headers. */
const LONGEST_FRAME_BYTES = 3 << 20;
const METADATA_HEAD_BYTES = 4;
const STREAM_INFO_BYTES = 34;
const NO_BYTES = new Uint8Array(0);

/**
 * Decodes a native FLAC file as its bytes arrive. A frame's own bits and checksum tell where it ends, so
 * neither the end of the file nor tags after the audio cost a sample. Damaged frames are dropped.
 *
 * @see RFC 9639
 */
export class FlacStream {
  #held: Uint8Array = NO_BYTES;
  #state: "tags" | "metadata" | "frames" | "refused" = "tags";
  #skipBytes = 0;
  #info: FlacStreamInfo | null = null;
  /** Number of bytes before which the next frame is not tried, except at the end of the file. */
  #wantedBytes = 1;

  /** Returns the frames that these bytes complete. */
  push(bytes: Uint8Array): FlacFrame[] {
    this.#held = this.#held.length === 0 ? bytes.slice() : joinedBytes(this.#held, bytes);
    return this.#take(false);
  }

  /** Returns the frames that only the end of the file completes. */
  end(): FlacFrame[] {
    return this.#take(true);
  }

  #take(isEnd: boolean): FlacFrame[] {
    while (this.#state !== "frames" && this.#stepHead());
    return this.#state === "frames" ? this.#takeFrames(isEnd) : [];
  }

  /**
   * Takes one step through tags and metadata. Returns false if more bytes are needed, or the file is
   * rejected.
   */
  #stepHead(): boolean {
    const skipped = Math.min(this.#skipBytes, this.#held.length);
    this.#skip(skipped);
    this.#skipBytes -= skipped;
    if (this.#skipBytes > 0 || this.#state === "refused") return false;
    return this.#state === "tags" ? this.#stepTags() : this.#stepMetadata();
  }

  #stepTags(): boolean {
    if (this.#held.length < 10) return false;
    this.#skipBytes = id3Bytes(this.#held);
    if (this.#skipBytes > 0) return true;
    const isFlac = String.fromCharCode(...this.#held.subarray(0, 4)) === "fLaC";
    this.#state = isFlac ? "metadata" : "refused";
    this.#skipBytes = 4;
    return isFlac;
  }

  #stepMetadata(): boolean {
    if (this.#held.length < METADATA_HEAD_BYTES) return false;
    const [head = 0, high = 0, middle = 0, low = 0] = this.#held;
    const isStreamInfo = (head & 0x7f) === 0;
    if (isStreamInfo && this.#held.length < METADATA_HEAD_BYTES + STREAM_INFO_BYTES) return false;
    // The first block, and no other, must be the stream info.
    if (isStreamInfo !== (this.#info === null)) {
      this.#state = "refused";
      return false;
    }
    if (isStreamInfo) this.#info = streamInfo(this.#held.subarray(METADATA_HEAD_BYTES));
    this.#skip(METADATA_HEAD_BYTES);
    this.#skipBytes = (high << 16) | (middle << 8) | low;
    if ((head & 0x80) !== 0) this.#state = "frames";
    return true;
  }

  #takeFrames(isEnd: boolean): FlacFrame[] {
    const frames: FlacFrame[] = [];
    const skipped = Math.min(this.#skipBytes, this.#held.length);
    this.#skipBytes -= skipped;
    const bytes = this.#held.subarray(skipped);
    let at = 0;
    while (at + 1 < bytes.length && (isEnd || bytes.length - at >= this.#wantedBytes)) {
      if (!isFlacSync(bytes, at)) {
        at++;
        continue;
      }
      const read = this.#readFrame(bytes.subarray(at, at + LONGEST_FRAME_BYTES));
      if (read === "needs-more" && !isEnd && bytes.length - at < LONGEST_FRAME_BYTES) {
        // Double it, so that a long frame is not retried with every chunk.
        this.#wantedBytes = 2 * (bytes.length - at);
        break;
      }
      this.#wantedBytes = 1;
      if (typeof read === "string") {
        at++;
        continue;
      }
      frames.push(read.frame);
      at += read.bytes;
    }
    this.#held = bytes.slice(at);
    return frames;
  }

  #readFrame(
    bytes: Uint8Array,
  ): { readonly frame: FlacFrame; readonly bytes: number } | "needs-more" | "bad" {
    const bits = new FlacBits(bytes);
    try {
      const frame = decodeFlacFrame(bits, this.#info!);
      return frame === null ? "bad" : { frame, bytes: bits.byteOffset };
    } catch (error) {
      if (error instanceof NeedsMoreBytes) return "needs-more";
      throw error;
    }
  }

  #skip(bytes: number): void {
    this.#held = this.#held.subarray(bytes);
  }
}

function streamInfo(block: Uint8Array): FlacStreamInfo {
  const view = new DataView(block.buffer, block.byteOffset, STREAM_INFO_BYTES);
  const packed = view.getUint32(10);
  return { sampleRateHz: packed >>> 12, bitsPerSample: ((packed >>> 4) & 0x1f) + 1 };
}
