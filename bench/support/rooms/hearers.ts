import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { endpointed, frameEvidence, framesOfWindows, iterated, levelsOf } from "./endings.js";
import type { Utterance } from "./judge.js";
import { openSilero, SILERO_VERSIONS } from "./silero.js";

/** Names of the two systems that tables and charts compare. */
export const OURS = "dauys";
export const SILERO = "silero-v6";

/** A voice activity network. */
export interface Hearer {
  readonly name: string;
  /** Probability of speech in each frame of 40 ms. */
  frames(pcm: Int16Array): Promise<Float32Array>;
  /** Finds utterances by each rule that this network is combined with. */
  utterances(
    pcm: Int16Array,
  ): Promise<readonly { readonly system: string; readonly found: readonly Utterance[] }[]>;
  release(): Promise<void>;
}

/** Wraps our own network, as live sessions use it. The caller releases the recogniser. */
export function ownHearer({ model }: Recognizer): Hearer {
  return {
    name: OURS,
    frames: async (pcm) => (await frameEvidence(model, pcm)).speech,
    utterances: async (pcm) => [{ system: OURS, found: endpointed(await frameEvidence(model, pcm)) }],
    release: async () => {},
  };
}

/** Wraps Silero VAD, each version with its own rule and with ours. */
export async function sileroHearers(): Promise<Hearer[]> {
  const hearers: Hearer[] = [];
  for (const version of SILERO_VERSIONS) {
    const silero = await openSilero(version);
    const name = `silero-${version}`;
    hearers.push({
      name,
      frames: async (pcm) => framesOfWindows(await silero.windows(pcm)),
      utterances: async (pcm) => {
        const windows = await silero.windows(pcm);
        const speech = framesOfWindows(windows);
        const levels = levelsOf(pcm, speech.length);
        return [
          { system: name, found: iterated(windows) },
          { system: `${name} with our rule`, found: endpointed({ speech, levels, letters: null }) },
        ];
      },
      release: () => silero.release(),
    });
  }
  return hearers;
}
