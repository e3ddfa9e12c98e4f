import { z } from "zod";
import { KAZAKH_LETTERS } from "../../../core/domain/text/kazakh/letters.js";
import { MEL_SYNTHESIZER_FIELDS, type PackageSchema, requireVoices } from "../manifest.js";
import { number } from "../rules.js";

export interface MatchaContents {
  readonly symbols: { readonly symbols: readonly string[] };
}

const MANIFEST = z
  .object({
    ...MEL_SYNTHESIZER_FIELDS,
    /** Temperature of the flow's initial noise; at 0, equal jobs give equal samples. */
    temperature: number().min(0, { error: "must be at least 0" }).default(0.667),
    /** Factor for durations at speed 1. */
    lengthScale: number().gt(0, { error: "must be more than 0" }).default(1),
    /** Puts a blank before, between and after symbols, as in the original training. */
    addsBlanks: z.boolean({ error: "must be true or false" }).default(true),
  })
  .superRefine(requireVoices);

export type MatchaManifest = z.output<typeof MANIFEST>;

const SYMBOLS = z
  .array(z.string(), { error: "must be a list of characters" })
  .refine((symbols) => missingIn(symbols).length === 0, {
    error: ({ input }) =>
      `must contain ${missingIn(input as string[])
        .map((symbol) => `"${symbol}"`)
        .join(", ")}`,
  });

export const MATCHA_PACKAGE: PackageSchema<MatchaManifest, MatchaContents> = {
  manifest: MANIFEST,
  jsonFiles: ["symbols"],
  contents: () => z.object({ symbols: z.object({ symbols: SYMBOLS }) }),
};

function missingIn(symbols: readonly string[]): string[] {
  return [...KAZAKH_LETTERS, " "].filter((character) => !symbols.includes(character));
}
