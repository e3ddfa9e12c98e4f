import { z } from "zod";
import { SPEECH_RATE_HZ } from "../../../core/domain/synthesis/speech-rate.js";
import {
  MEL_SYNTHESIZER_FIELDS,
  type MelSynthesizerManifest,
  type PackageSchema,
  requireVoices,
  VOICE_FIELDS,
  voicesOf,
} from "../manifest.js";
import { between, number, numbers, refuse, whole } from "../rules.js";

/** As in `solver-piece.ts`, which cannot be imported here: it loads onnxruntime. */
const PATCH_FRAMES = 2;

/** Solver times by number of steps. */
const TIMES = z.record(z.string(), z.array(number())).superRefine((times, context) => {
  for (const [nfe, list] of Object.entries(times)) {
    const isAscending = list.every((time, step) => step === 0 || time > list[step - 1]!);
    if (isAscending && list.length === Number(nfe) + 1 && list[0] === 0 && list.at(-1) === 1) continue;
    refuse(context, [nfe], `must be ${Number(nfe) + 1} ascending numbers from 0 to 1`);
  }
});
const COLUMNS = `must be ${PATCH_FRAMES} lists of numbers`;

export type FlowMatchingContents = z.output<ReturnType<typeof contents>>;

function contents({ melBins, voices }: MelSynthesizerManifest) {
  const melody = z.object({
    logHzPerUnit: number(),
    lowestHz: number(),
    highestHz: number(),
    columns: z.array(z.array(number()), { error: COLUMNS }).length(PATCH_FRAMES, { error: COLUMNS }),
  });
  return z.object({
    symbols: z.object({ symbols: z.array(z.string(), { error: "must be a list of characters" }) }),
    synthesis: z.object({
      solver: z.object({ sway: number(), times: TIMES.optional() }),
      noise_temperature: number(),
      /** Frames on each side on which the vocoder's samples depend. */
      vocoder_context_frames: whole(0),
      /** Reach of the condition in frames; without it, one run computes a piece's whole condition. */
      condition_context_frames: whole(0).optional(),
      /** Mean of the normalised log-mel below which a frame is silent. */
      silence: z.object({ mel_mean_below: number() }),
    }),
    /** Loudness constants; without them, pieces keep the model's own loudness. */
    loudness: z
      .object({
        targetLufs: number(),
        slopes: numbers(melBins),
        intercepts: numbers(melBins),
        ceiling: number(),
        voiceLufs: z.record(z.string(), number()),
      })
      .optional(),
    /** Required if a voice has a `melody`. */
    melody: voices.some((voice) => voice.melody !== undefined) ? melody : melody.optional(),
  });
}

export const FLOW_MATCHING_PACKAGE: PackageSchema<MelSynthesizerManifest, FlowMatchingContents> = {
  manifest: z
    .object({
      ...MEL_SYNTHESIZER_FIELDS,
      voices: voicesOf({
        ...VOICE_FIELDS,
        melody: between(0, 2).optional(),
        pitchHz: between(40, 800).optional(),
      }),
      // Pieces that share runs are not resampled.
      sampleRateHz: number().refine((rateHz) => rateHz === SPEECH_RATE_HZ, {
        error: ({ input }) => `must be ${SPEECH_RATE_HZ}, found ${String(input)}`,
      }),
    })
    .superRefine(requireVoices)
    .superRefine(({ voices }, context) => {
      const lost = voices.findIndex(({ melody, pitchHz }) => melody !== undefined && pitchHz === undefined);
      if (lost >= 0)
        refuse(context, ["voices", String(lost), "pitchHz"], "must be given together with melody");
    }),
  jsonFiles: ["symbols", "synthesis", "loudness", "melody"],
  contents,
};
