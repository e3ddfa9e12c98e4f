import { z } from "zod";
import { type PackageSchema, requireVoices, SYNTHESIZER_FIELDS } from "../manifest.js";
import { number, refuse, text, whole } from "../rules.js";
import { BEGIN, END, PAD, type PhonemeIds } from "./phoneme-ids.js";

/** Only this format is accepted: any other text could be an option, or a path to espeak-ng's data. */
const ESPEAK_VOICE = /^[a-z][\w-]{0,31}$/i;

/**
 * Reach of Piper's decoders, rounded up: 13.3 frames for "high" (residual blocks with kernel 11 and dilations
 * to 5 at rates 8, 64, 128 and 256), 10.7 for the others (kernel 7, dilations to 12).
 */
const HIFI_GAN_REACH_FRAMES = 16;

const scale = () => number().min(0, { error: "must be at least 0" }).optional();
const lengthScale = () => number().gt(0, { error: "must be more than 0" }).optional();

const MANIFEST = z
  .object({
    ...SYNTHESIZER_FIELDS,
    /** Samples per frame, the unit of durations and windows. */
    hopSamples: whole(1).default(256),
    /** Scale of the latent noise; default: the voice's config, else 0.667. */
    noiseScale: scale(),
    /** Scale of the noise in durations; default: the voice's config, else 0.8. */
    durationNoiseScale: scale(),
    /** Factor for durations at speed 1; default: the voice's config, else 1. */
    lengthScale: lengthScale(),
    /** Puts a blank before, between and after characters, as in the training of MMS. */
    addsBlanks: z.boolean({ error: "must be true or false" }).default(true),
    /** Output of the graph with the frames of each token, if any: required for word times. */
    durations: text().optional(),
    /** Frames on each side on which the decoder's samples depend, for a graph in two halves. */
    decoderContextFrames: whole(0).default(HIFI_GAN_REACH_FRAMES),
    /** Longest part of a streamed text that one run speaks; default: `clauses` unless the graph is split. */
    pieces: z.enum(["sentence", "clauses"], { error: "must be sentence or clauses" }).optional(),
  })
  .superRefine(requireVoices)
  .superRefine(({ files }, context) => {
    if ("config" in files === "symbols" in files) {
      refuse(context, ["files"], 'must list either "config" (Piper) or "symbols" (MMS)');
    }
    if ("model" in files === "encoder" in files || "encoder" in files !== "decoder" in files) {
      refuse(context, ["files"], 'must list either "model" or "encoder" and "decoder"');
    }
    if ("encoder" in files && "symbols" in files) {
      refuse(context, ["files"], 'must list "config" if it lists "encoder"');
    }
  });

export type VitsManifest = z.output<typeof MANIFEST>;

const PHONEME_IDS = z
  .record(z.string(), z.array(whole(0), { error: "must be lists of numbers" }), {
    error: "must be a map of phonemes",
  })
  .refine((ids) => missingIn(ids).length === 0, {
    error: ({ input }) => `must contain ${missingIn(input as PhonemeIds).join(", ")}`,
  });

/** A voice's `.onnx.json`, as Piper writes it; other fields are ignored. */
const CONFIG = z
  .object({
    audio: z.object({ sample_rate: number() }, { error: "must contain sample_rate" }),
    espeak: z
      .object({
        voice: text().regex(ESPEAK_VOICE, { error: "must be an espeak-ng voice" }),
      })
      .optional(),
    phoneme_type: z
      .enum(["espeak", "text"], { error: ({ input }) => `must be espeak or text, found ${String(input)}` })
      .default("espeak"),
    inference: z.object({ noise_scale: scale(), length_scale: lengthScale(), noise_w: scale() }).prefault({}),
    phoneme_map: z.record(z.string(), z.array(z.string())).default({}),
    phoneme_id_map: PHONEME_IDS,
    num_speakers: whole(1).default(1),
  })
  .superRefine(({ phoneme_type, espeak }, context) => {
    if (phoneme_type === "espeak" && espeak === undefined) {
      refuse(context, ["espeak", "voice"], "must be an espeak-ng voice, found undefined");
    }
  });

export type PiperConfig = z.output<typeof CONFIG>;

/** A Piper voice has `config`, an MMS voice has `symbols`. */
export interface VitsContents {
  readonly config?: PiperConfig | undefined;
  /** `vocab.json`: the number of each character. */
  readonly symbols?: Readonly<Record<string, number>> | undefined;
}

export const VITS_PACKAGE: PackageSchema<VitsManifest, VitsContents> = {
  manifest: MANIFEST,
  jsonFiles: ["config", "symbols"],
  contents: (manifest) =>
    z
      .object({
        config: "config" in manifest.files ? CONFIG : z.undefined().optional(),
        symbols:
          "symbols" in manifest.files
            ? z.record(z.string(), whole(0), { error: "must be a map of characters" })
            : z.undefined().optional(),
      })
      .superRefine(({ config }, context) => requireSameVoices(manifest, config, context)),
};

/** Requires the manifest to agree with the voice's config: its sample rate, and speakers for all voices. */
function requireSameVoices(
  { sampleRateHz, voices }: VitsManifest,
  config: PiperConfig | undefined,
  context: z.core.$RefinementCtx,
): void {
  if (config === undefined) return;
  const found = config.audio.sample_rate;
  if (found !== sampleRateHz) {
    const rule = `must be the manifest's sampleRateHz ${sampleRateHz}, found ${found}`;
    refuse(context, ["config", "audio", "sample_rate"], rule);
  }
  const lost = voices.find(({ index }) => index >= config.num_speakers);
  if (lost !== undefined) {
    const rule = `must be more than ${lost.index} for voice ${lost.name}, found ${config.num_speakers}`;
    refuse(context, ["config", "num_speakers"], rule);
  }
}

function missingIn(ids: PhonemeIds): string[] {
  return [PAD, BEGIN, END].filter((symbol) => !Object.hasOwn(ids, symbol)).map((symbol) => `"${symbol}"`);
}
