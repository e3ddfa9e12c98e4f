import type { SpeakerWindow } from "../../core/domain/diarization/windows.js";
import type { DiarizationManifest } from "./manifest.js";

/** A loaded model of a family for diarization. */
export interface SpeakerModel {
  readonly manifest: DiarizationManifest;
  /**
   * Finds the speakers of one window.
   *
   * @param samples `windowSamples` of mono audio, -1 to 1, with silence after the end of the audio
   * @param endSample end of the audio within the window
   * @param checkpoint called between two runs of graphs; its failure ends the work
   */
  hearWindow(samples: Float32Array, endSample: number, checkpoint?: () => void): Promise<SpeakerWindow>;
  release(): Promise<void>;
}
