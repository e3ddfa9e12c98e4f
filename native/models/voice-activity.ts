import type { EncoderState } from "./state-rows.js";

/** The next audio of several streams, with their states and the buffer for the result. */
export interface VoiceFrames {
  readonly frames: number;
  /** `[rows, frames * FRAME_SAMPLES]`, -1 to 1, 16 kHz. */
  readonly pcm: Float32Array;
  /** `[rows, frames]`, receives the probability of speech. */
  readonly speech: Float32Array;
  /** One per row, updated in place: `stateSize` floats and `stateBytes` bytes; the rest belongs to others. */
  readonly states: readonly EncoderState[];
}

/**
 * Voice activity for recognisers that have none. A row's results are bit-identical in any batch and any
 * chunking.
 */
export interface VoiceActivity {
  /** Number of floats in a stream's state; a stream starts with zeros. */
  readonly stateSize: number;
  /** Number of additional bytes in a stream's state. */
  readonly stateBytes: number;
  /** Left context that a replay needs, see `RecognizerManifest.contextFrames`. */
  readonly contextFrames: number;
  hear(next: VoiceFrames): Promise<void>;
  /** Frees the graph's memory; nothing may run afterwards. */
  release(): Promise<void>;
}
