import { z } from "zod";
import type { LoudnessModel } from "../../../src/domain/synthesis/loudness.js";
import { SPEECH_RATE_HZ } from "../../../src/domain/synthesis/speech-rate.js";
import { MEL_SYNTHESIZER_FIELDS, type MelSynthesizerManifest, requireVoices } from "../manifest.js";
import type { PackageSchema } from "../package-schema.js";
import { number, numbers, whole } from "../rules.js";

/** What the JSON files of a package say. */
export interface FlowMatchingContents {
  readonly symbols: { readonly symbols: readonly string[] };
  readonly synthesis: {
    readonly solver: { readonly sway: number };
    readonly noise_temperature: number;
    /** Frames on each side that the vocoder's samples depend on. */
    readonly vocoder_context_frames: number;
    /** A frame whose normalised log-mel has a lower mean is silent. */
    readonly silence: { readonly mel_mean_below: number };
  };
  /** A package without it has pieces as loud as the model makes them. */
  readonly loudness?: LoudnessModel | undefined;
}

function contents({ melBins }: MelSynthesizerManifest): z.ZodType<FlowMatchingContents> {
  return z.object({
    symbols: z.object({ symbols: z.array(z.string(), { error: "must be a list of characters" }) }),
    synthesis: z.object({
      solver: z.object({ sway: number() }),
      noise_temperature: number(),
      vocoder_context_frames: whole(0),
      silence: z.object({ mel_mean_below: number() }),
    }),
    loudness: z
      .object({
        targetLufs: number(),
        slopes: numbers(melBins),
        intercepts: numbers(melBins),
        ceiling: number(),
        voiceLufs: z.record(z.string(), number()),
      })
      .optional(),
  });
}

export const FLOW_MATCHING_PACKAGE: PackageSchema<MelSynthesizerManifest, FlowMatchingContents> = {
  manifest: z
    .object({
      ...MEL_SYNTHESIZER_FIELDS,
      // Pieces that share runs leave their worker as they are made.
      sampleRateHz: number().refine((rateHz) => rateHz === SPEECH_RATE_HZ, {
        error: ({ input }) => `must be ${SPEECH_RATE_HZ}, found ${String(input)}`,
      }),
    })
    .superRefine(requireVoices),
  jsonFiles: ["symbols", "synthesis", "loudness"],
  contents,
};
