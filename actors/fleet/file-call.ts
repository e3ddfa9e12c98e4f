import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import type { FilePiece } from "../../native/threads/protocol.js";
import type { PackedShape } from "./packed-windows.js";

/** A file of a call; the node pulls its audio. */
export interface FileOfCall {
  /** At the model's rate. */
  readonly sampleCount: number;
}

/** Runs the encoder over part of a file. Items: the audio, then `values` and `bytes` of the state. */
export interface HearCall {
  readonly type: "hear";
  readonly file: FileOfCall;
  readonly startFrame: number;
  readonly endFrame: number;
  /** Byte lengths of the encoder state's `values` and `bytes`; null without a state. */
  readonly stateBytes: readonly [number, number] | null;
}

/** A piece of the call's file number `file`. */
interface PieceOfCall
  extends Pick<
    FilePiece,
    "startFrame" | "endFrame" | "endSample" | "speechMean" | "isCutBefore" | "isCutBehind"
  > {
  readonly file: number;
}

/** Decodes pieces. Items: the audio of each file, then the encoder's output of each piece. */
export interface DecodeCall {
  readonly type: "decode";
  readonly files: readonly (FileOfCall & { readonly hotWords: readonly HotWord[] })[];
  readonly pieces: readonly PieceOfCall[];
  /** Floats in a frame of the encoder's output. */
  readonly encodedSize: number;
}

/** Hears windows of a file for its speakers; each is answered in a part. Items: the audio. */
export interface HearSpeakersCall {
  readonly type: "hear-speakers";
  /** At the rate of the model for diarization. */
  readonly file: FileOfCall;
  readonly firstWindow: number;
  readonly endWindow: number;
}

/** A part of the answer to a call that hears windows. Embeddings are the bytes of floats. */
export interface HeardWindow {
  readonly frames: Uint8Array;
  readonly embeddings: readonly (Uint8Array | null)[];
}

/** Finds the turns of a file's speakers; parts hold some turns each. Items: those of `PackedWindows`. */
export interface GroupSpeakersCall extends PackedShape {
  readonly type: "group-speakers";
  readonly sampleCount: number;
  readonly speakerCount: number | null;
}

export type FileCall = HearCall | DecodeCall | HearSpeakersCall | GroupSpeakersCall;

/** A note about a call: the results of this file are no longer wanted. */
export interface GiveUpNote {
  readonly giveUp: number;
}

/** Results of a hear call. Nodes of earlier versions send no levels. */
export const HEARD = { speech: 0, encoded: 1, stateValues: 2, stateBytes: 3, levels: 4 } as const;

/** Some bytes of one result of a hear call, in order. */
export interface HeardBytes {
  /** One of `HEARD`. */
  readonly what: number;
  /** Bytes of the whole result. */
  readonly byteCount: number;
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** The answer to a hear call. A decode call is answered with the outcomes of its pieces. */
export interface HearDone {
  readonly encodedSize: number;
  readonly hasState: boolean;
}
