import { z } from "zod";
import {
  MEL_SYNTHESIZER_FIELDS,
  type PackageSchema,
  requireVoices,
  VOICE_FIELDS,
  voicesOf,
} from "../manifest.js";
import { refuse, text, whole } from "../rules.js";

const MANIFEST = z
  .object({
    ...MEL_SYNTHESIZER_FIELDS,
    /** A voice is a recording (the name of a WAV file in the manifest) with its transcript. */
    voices: voicesOf({ ...VOICE_FIELDS, reference: text(), referenceText: text() }),
    /** Number of the export's solver steps, divided by the steps that one run performs. */
    transformerRuns: whole(1),
  })
  .superRefine(requireVoices)
  .superRefine(({ voices, files }, context) => {
    const lost = voices.find(({ reference }) => !(reference in files));
    if (lost !== undefined)
      refuse(context, ["files"], `must list "${lost.reference}" for voice ${lost.name}`);
  });

export type F5Manifest = z.output<typeof MANIFEST>;
export type F5Voice = F5Manifest["voices"][number];

export const F5_PACKAGE: PackageSchema<F5Manifest, object> = {
  manifest: MANIFEST,
  jsonFiles: [],
  contents: () => z.object({}),
};
