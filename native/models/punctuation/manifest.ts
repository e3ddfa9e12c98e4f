import { z } from "zod";
import { type PackageSchema, PUNCTUATION_FIELDS, type PunctuationManifest } from "../manifest.js";

/** The shipped model: a graph, and weights that TypeScript reads. */
export const WORD_GRU_PACKAGE: PackageSchema<PunctuationManifest, object> = {
  manifest: z.object(PUNCTUATION_FIELDS),
  jsonFiles: [],
  contents: () => z.object({}),
};
