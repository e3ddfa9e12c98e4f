import type { EncoderState } from "./state-rows.js";

/** The next audio of several streams, and where the answer and the streams' memories are. */
export interface VoiceFrames {
  /** Of 40 ms, in each row. */
  readonly frames: number;
  /** `[rows, frames * FRAME_SAMPLES]`, -1 to 1, 16 kHz. */
  readonly pcm: Float32Array;
  /** `[rows, frames]`, takes the probability that a frame is speech. */
  readonly speech: Float32Array;
  /**
   * One for each row, changed in place. Its first `stateSize` floats and `stateBytes` bytes are the stream's memory; those
   * after them belong to others.
   */
  readonly states: readonly EncoderState[];
}

/** Finds speech for recognisers that have no voice activity. A row gets the same bits in any batch and for any cut of the audio. */
export interface VoiceActivity {
  /** Floats of one stream's state; zeros begin a stream. */
  readonly stateSize: number;
  /** Bytes of it besides. */
  readonly stateBytes: number;
  /** Frames that a replay must begin earlier for the later frames to be right, see `RecognizerManifest.contextFrames`. */
  readonly contextFrames: number;
  hear(next: VoiceFrames): Promise<void>;
  /** Frees the graph's memory; nothing may be run afterwards. */
  release(): Promise<void>;
}
