import { resample } from "../../../core/domain/audio/resample.js";
import { readPackage } from "../../../native/models/find-packages.js";
import { FlowMatching } from "../../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../../native/models/flow-matching/manifest.js";
import type { MelSynthesizerManifest } from "../../../native/models/manifest.js";
import { KeptSpeaker } from "../../evaluate/kept-speech.js";
import { MODELS } from "../../evaluate/paths.js";
import { RATE_HZ } from "./levels.js";

const SYNTHESIZER = `${MODELS}svc-kk-v1`;
/** Number of solver steps. */
const NFE = 16;

/** The shipped synthesizer. */
export interface Voices {
  readonly names: readonly string[];
  /** Synthesizes a sentence at 16 kHz; results are cached between runs. */
  readonly speak: (voice: string, text: string) => Promise<Float32Array>;
  release(): Promise<void>;
}

export async function openVoices(): Promise<Voices> {
  const found = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(SYNTHESIZER, "synthesis");
  const model = await FlowMatching.load(found, { intraOpThreads: 1 });
  const speaker = new KeptSpeaker(model);
  return {
    names: found.manifest.voices.map(({ name }) => name),
    speak: async (voice, text) => {
      const { pcm, sampleRateHz } = await speaker.speak({ voice, text, speed: 1, nfe: NFE, seed: 1 });
      return resample(pcm, { fromHz: sampleRateHz, toHz: RATE_HZ });
    },
    release: () => model.release(),
  };
}
