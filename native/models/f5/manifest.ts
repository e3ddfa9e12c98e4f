import { z } from "zod";
import {
  type ManifestVoice,
  MEL_SYNTHESIZER_FIELDS,
  type MelSynthesizerManifest,
  requireVoices,
  VOICE_FIELDS,
  voicesOf,
} from "../manifest.js";
import type { PackageSchema } from "../package-schema.js";
import { refuse, text, whole } from "../rules.js";

/** A voice is a recording and what is said in it. */
export interface F5Voice extends ManifestVoice {
  /** Name of a WAVE file among the package's files. */
  readonly reference: string;
  readonly referenceText: string;
}

export interface F5Manifest extends MelSynthesizerManifest {
  readonly voices: readonly F5Voice[];
  /** How often the transformer runs: the export's solver steps, divided by those it fuses. */
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
