import { requireCount, requireString } from "../manifest-fields.js";
import type { ManifestVoice, SynthesizerManifest } from "../package.js";

/** A voice is a recording and what is said in it. */
export interface F5Voice extends ManifestVoice {
  /** Name of a WAVE file among the package's files. */
  readonly reference: string;
  readonly referenceText: string;
}

/** A manifest of the family `f5`. */
export interface F5Manifest extends SynthesizerManifest {
  readonly family: "f5";
  readonly voices: readonly F5Voice[];
  /** How often the transformer runs: the export's solver steps, divided by those it fuses. */
  readonly transformerRuns: number;
}

/** @throws {Error} saying which field must be what */
export function parseF5(manifest: SynthesizerManifest): F5Manifest {
  const fields = manifest as SynthesizerManifest & Readonly<Record<string, unknown>>;
  const transformerRuns = requireCount(fields, "transformerRuns");
  const voices = manifest.voices.map((voice) => {
    const named = { ...voice } as ManifestVoice & Readonly<Record<string, unknown>>;
    const reference = requireString(named, "reference");
    if (!(reference in manifest.files))
      throw new Error(`files must name "${reference}" for voice ${voice.name}`);
    return { ...voice, reference, referenceText: requireString(named, "referenceText") };
  });
  return { ...manifest, family: "f5", voices, transformerRuns };
}
