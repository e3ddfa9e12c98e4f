import { z } from "zod";
import { DIARIZATION_FIELDS, type PackageSchema } from "../manifest.js";
import { between, refuse, whole } from "../rules.js";

/** Defaults for the published segmentation-3.0 and its usual pipeline; a manifest may override them. */
const MANIFEST = z
  .object({
    ...DIARIZATION_FIELDS,
    /** Audio of one run of the segmentation, 10 s. */
    windowSamples: whole(16_000).default(160_000),
    /** Distance between two windows, 1 s. */
    shiftSamples: whole(1_600).default(16_000),
    /** The graph's metadata `receptive_field_shift` and `receptive_field_size`. */
    frameSamples: whole(1).default(270),
    receptiveSamples: whole(1).default(991),
    melBins: whole(1).default(80),
    /** Cosine distance from which two groups of embeddings are different speakers. */
    clusterThreshold: between(0, 2).default(0.5),
    leastTurnSeconds: between(0, 10).default(0.3),
    leastGapSeconds: between(0, 10).default(0.5),
  })
  .superRefine(({ files, windowSamples, shiftSamples }, context) => {
    for (const name of ["segmentation", "embedding"])
      if (!(name in files)) refuse(context, ["files"], `must list "${name}"`);
    if (shiftSamples > windowSamples)
      refuse(context, ["shiftSamples"], `must be at most windowSamples, found ${shiftSamples}`);
  });

export type PyannoteManifest = z.output<typeof MANIFEST>;

export const PYANNOTE_PACKAGE: PackageSchema<PyannoteManifest, object> = {
  manifest: MANIFEST,
  jsonFiles: [],
  contents: () => z.object({}),
};
