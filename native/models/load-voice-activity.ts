import { type GraphOptions, loadGraph } from "./graph.js";
import { NearVoice } from "./near-voice.js";
import { NEAR_VOICE_FILE, readNearVoice } from "./near-voice-package.js";
import { fileNameOf, type SealedFolder } from "./package.js";
import { SileroVad } from "./silero-vad.js";
import type { VoiceActivity } from "./voice-activity.js";

const OWN_FILE = "vad";

/**
 * Loads voice activity for a package: its file `vad`, of either kind, or else the repository's near voice. It
 * always runs on the CPU, in one thread: a run takes less time than a transfer to a device or a thread.
 *
 * @param nearVoice used for a package without a file `vad`
 * @throws {ServiceError} `MODEL_BROKEN` with the file that is missing, damaged or has other tensors
 */
export async function loadVoiceActivity(
  model: SealedFolder,
  { runTimes }: GraphOptions,
  nearVoice: () => SealedFolder = readNearVoice,
): Promise<VoiceActivity> {
  const hasOwn = OWN_FILE in model.manifest.files;
  const folder = hasOwn ? model : nearVoice();
  const file = hasOwn ? OWN_FILE : NEAR_VOICE_FILE;
  // Its kind determines which tensors it must have. Run times are recorded for the package's own files only.
  const contract = { file, inputs: [], outputs: [] };
  const graph = await loadGraph(folder, contract, {
    intraOpThreads: 1,
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
