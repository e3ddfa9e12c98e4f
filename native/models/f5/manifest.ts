import { z } from "zod";
import type { PackageSchema } from "../family.js";
import {
  type ManifestVoice,
  MEL_SYNTHESIZER_FIELDS,
  type MelSynthesizerManifest,
  requireVoices,
  VOICE_FIELDS,
  voicesOf,
} from "../manifest.js";
import { refuse, text, whole } from "../rules.js";

/** A voice is a recording with its transcript. */
export interface F5Voice extends ManifestVoice {
  /** Name of a WAV file in the manifest. */
  readonly reference: string;
  readonly referenceText: string;
}

export interface F5Manifest extends MelSynthesizerManifest {
  readonly voices: readonly F5Voice[];
  /** Transformer runs: the export's solver steps, divided by the steps that it fuses into one. */
  readonly transformerRuns: number;
}

const MANIFEST = z
  .object({
    ...MEL_SYNTHESIZER_FIELDS,
    voices: voicesOf({ ...VOICE_FIELDS, reference: text(), referenceText: text() }),
    transformerRuns: whole(1),
  })
  .superRefine(requireVoices)
  .superRefine(({ voices, files }, context) => {
    const lost = voices.find(({ reference }) => !(reference in files));
    if (lost !== undefined)
      refuse(context, ["files"], `must name "${lost.reference}" for voice ${lost.name}`);
  });

export const F5_PACKAGE: PackageSchema<F5Manifest, object> = {
  manifest: MANIFEST,
  jsonFiles: [],
  contents: () => z.object({}),
};
