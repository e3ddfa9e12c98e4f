import { type GraphOptions, loadGraph } from "./graph.js";
import { NearVoice } from "./near-voice.js";
import { NEAR_VOICE_FILE, readNearVoice } from "./near-voice-package.js";
import { fileNameOf, type SealedFolder } from "./package.js";
import { SileroVad } from "./silero-vad.js";
import type { EncoderState } from "./state-rows.js";

/** The next audio of several streams, with their states and the buffer for the result. */
export interface VoiceFrames {
  /** Frames of 40 ms per row. */
  readonly frames: number;
  /** `[rows, frames * FRAME_SAMPLES]`, -1 to 1, 16 kHz. */
  readonly pcm: Float32Array;
  /** `[rows, frames]`, receives the probability of speech. */
  readonly speech: Float32Array;
  /** One per row, updated in place: `stateSize` floats and `stateBytes` bytes; what follows is not ours. */
  readonly states: readonly EncoderState[];
}

/** Voice activity for recognisers without. A row gets the same bits in any batch and any chunking. */
export interface VoiceActivity {
  /** Floats in a stream's state; a stream starts with zeros. */
  readonly stateSize: number;
  /** Additional bytes in a stream's state. */
  readonly stateBytes: number;
  /** Left context that a replay needs, see `RecognizerManifest.contextFrames`. */
  readonly contextFrames: number;
  hear(next: VoiceFrames): Promise<void>;
  /** Frees the graph's memory; nothing may run afterwards. */
  release(): Promise<void>;
}

const OWN_FILE = "vad";

/**
 * Loads voice activity for a package: its file `vad`, of either kind, else the near voice of the repository.
 * It always runs on the CPU: a run takes less time than a transfer to a device.
 *
 * @param nearVoice used for a package without a file `vad`
 * @throws {ServiceError} `MODEL_BROKEN` with the file that is missing, damaged or has other tensors
 */
export async function loadVoiceActivity(
  model: SealedFolder,
  { intraOpThreads, runTimes }: GraphOptions,
  nearVoice: () => SealedFolder = readNearVoice,
): Promise<VoiceActivity> {
  const hasOwn = OWN_FILE in model.manifest.files;
  const folder = hasOwn ? model : nearVoice();
  const file = hasOwn ? OWN_FILE : NEAR_VOICE_FILE;
  // Its kind decides which tensors it must have. Run times are recorded for the package's own files only.
  const contract = { file, inputs: [], outputs: [] };
  const graph = await loadGraph(folder, contract, {
    intraOpThreads,
    runTimes: hasOwn ? runTimes : undefined,
  });
  const name = fileNameOf(folder, file);
  try {
    return NearVoice.isIts(graph) ? new NearVoice(graph, name) : await SileroVad.over(graph, name);
  } catch (error) {
    await graph.release();
    throw error;
  }
}
