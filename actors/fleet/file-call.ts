import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import type { FilePiece } from "../../native/threads/protocol.js";

/** A file of a call; its audio is what the node pulls. */
export interface FileOfCall {
  /** At the model's rate. */
  readonly sampleCount: number;
}

/** A part of a file that a front wants heard. Items: the audio, then `values` and `bytes` of the state. */
export interface HearCall {
  readonly type: "hear";
  readonly file: FileOfCall;
  readonly startFrame: number;
  readonly endFrame: number;
  /** Bytes of the two members of what the encoder remembers; null where it remembers nothing. */
  readonly stateBytes: readonly [number, number] | null;
}

/** A piece of a call: its numbers, and the file it is of. */
interface PieceOfCall
  extends Pick<
    FilePiece,
    "startFrame" | "endFrame" | "endSample" | "speechMean" | "isCutBefore" | "isCutBehind"
  > {
  readonly file: number;
}

/** Pieces that a front wants decoded. Items: the audio of each file, then the encoder's output of each piece. */
export interface DecodeCall {
  readonly type: "decode";
  readonly files: readonly (FileOfCall & { readonly hotWords: readonly HotWord[] })[];
  readonly pieces: readonly PieceOfCall[];
  /** Floats of a frame of the encoder's output. */
  readonly encodedSize: number;
}

export type FileCall = HearCall | DecodeCall;

/** A note about a call: what is made of a file is not wanted any more. */
export interface GiveUpNote {
  readonly giveUp: number;
}

/** Parts of a hear call's result. Nodes of earlier versions send no levels. */
export const HEARD = { speech: 0, encoded: 1, stateValues: 2, stateBytes: 3, levels: 4 } as const;

/** Bytes of one of the results of a call that hears, in order. */
export interface HeardBytes {
  /** Of `HEARD`. */
  readonly what: number;
  /** Of all of them. */
  readonly byteCount: number;
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A call that hears ends with it; one that decodes with the outcomes of its pieces. */
export interface HearDone {
  readonly encodedSize: number;
  readonly hasState: boolean;
}
