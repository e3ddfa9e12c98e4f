import { z } from "zod";
import { type PackageSchema, PUNCTUATION_FIELDS } from "../manifest.js";
import { choice, refuse, whole } from "../rules.js";
import { POST_LABELS } from "./labels.js";

const MANIFEST = z
  .object({
    ...PUNCTUATION_FIELDS,
    /** Number of tokens in a window, with both special tokens: the longest text of the training. */
    longestTokens: whole(8),
    /** Number of tokens that a window shares with the previous one; half of them are taken from each. */
    overlapTokens: whole(0).default(16),
    /** Marks in the order of the graph's output. */
    postLabels: z.array(choice(POST_LABELS), { error: "must be a list of marks" }).min(1),
  })
  .superRefine(({ files, longestTokens, overlapTokens }, context) => {
    for (const name of ["model", "tokenizer"])
      if (!(name in files)) refuse(context, ["files"], `must list "${name}"`);
    if (overlapTokens * 2 > longestTokens)
      refuse(context, ["overlapTokens"], `must be at most half of longestTokens, found ${overlapTokens}`);
  });

export type PunctCapSegManifest = z.output<typeof MANIFEST>;

export const PUNCT_CAP_SEG_PACKAGE: PackageSchema<PunctCapSegManifest, object> = {
  manifest: MANIFEST,
  jsonFiles: [],
  contents: () => z.object({}),
};
