import { type GraphOptions, loadGraph } from "./graph.js";
import { NearVoice } from "./near-voice.js";
import { NEAR_VOICE_FILE, readNearVoice } from "./near-voice-package.js";
import { fileNameOf, type SealedFolder } from "./package.js";
import { SileroVad } from "./silero-vad.js";
import type { VoiceActivity } from "./voice-activity.js";

const OWN_FILE = "vad";

/**
 * Voice activity for a package: its file `vad`, of either kind, else the one that comes with the repository. It runs on the
 * CPU wherever the package's other graphs do: a run takes less than a transfer to a device.
 *
 * @param nearVoice what a package without a file `vad` gets
 * @throws {ServiceError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface
 */
export async function loadVoiceActivity(
  model: SealedFolder,
  { intraOpThreads, runTimes }: GraphOptions,
  nearVoice: () => SealedFolder = readNearVoice,
): Promise<VoiceActivity> {
  const hasOwn = OWN_FILE in model.manifest.files;
  const folder = hasOwn ? model : nearVoice();
  const file = hasOwn ? OWN_FILE : NEAR_VOICE_FILE;
  // Which tensors it must have is known once its kind is. Run times are counted by the package's own files.
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
