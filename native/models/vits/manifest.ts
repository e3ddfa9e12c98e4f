import { z } from "zod";
import { requireVoices, SYNTHESIZER_FIELDS, type SynthesizerManifest } from "../manifest.js";
import type { PackageSchema } from "../package-schema.js";
import { number, refuse, text, whole } from "../rules.js";
import { BEGIN, END, PAD, type PhonemeIds } from "./phoneme-ids.js";

export interface VitsManifest extends SynthesizerManifest {
  /** Samples of a frame, which durations and windows count in. */
  readonly hopSamples: number;
  /** Of the noise that speech is made from; what the voice's own file says when absent, else 0.667. */
  readonly noiseScale?: number | undefined;
  /** Of the noise in the durations; the voice's own, else 0.8. */
  readonly durationNoiseScale?: number | undefined;
  /** Length of the speech at speed 1; the voice's own, else 1. */
  readonly lengthScale?: number | undefined;
  /** A blank before, between and after characters, as MMS trains. */
  readonly addsBlanks: boolean;
  /** Output of the graph with the frames of each token: with it the voice tells when it says its words. */
  readonly durations?: string | undefined;
  /** Frames on each side that the decoder's samples depend on, for a graph in two halves. */
  readonly decoderContextFrames: number;
}

/** A voice's `.onnx.json`, as Piper writes it. What it says beside this is not used. */
export interface PiperConfig {
  readonly audio: { readonly sample_rate: number };
  readonly espeak?: { readonly voice: string } | undefined;
  readonly phoneme_type: "espeak" | "text";
  readonly inference: {
    readonly noise_scale?: number | undefined;
    readonly length_scale?: number | undefined;
    readonly noise_w?: number | undefined;
  };
  readonly phoneme_map: Readonly<Record<string, readonly string[]>>;
  readonly phoneme_id_map: PhonemeIds;
  readonly num_speakers: number;
}

/** What the JSON files of a package say: a voice of Piper's has `config`, one of MMS has `symbols`. */
export interface VitsContents {
  readonly config?: PiperConfig | undefined;
  /** `vocab.json`: the number of each character. */
  readonly symbols?: Readonly<Record<string, number>> | undefined;
}

/** Beyond it is a folder of espeak-ng's data, or an option. */
const ESPEAK_VOICE = /^[a-z][\w-]{0,31}$/i;

const scale = () => number().min(0, { error: "must be at least 0" }).optional();
const lengthScale = () => number().gt(0, { error: "must be more than 0" }).optional();

const MANIFEST = z
  .object({
    ...SYNTHESIZER_FIELDS,
    hopSamples: whole(1).default(256),
    noiseScale: scale(),
    durationNoiseScale: scale(),
    lengthScale: lengthScale(),
    addsBlanks: z.boolean({ error: "must be true or false" }).default(true),
    durations: text().optional(),
    decoderContextFrames: whole(0).default(64),
  })
  .superRefine(requireVoices)
  .superRefine(({ files }, context) => {
    if ("config" in files === "symbols" in files) {
      refuse(context, ["files"], 'must name either "config" (Piper) or "symbols" (MMS)');
    }
    if ("model" in files === "encoder" in files || "encoder" in files !== "decoder" in files) {
      refuse(context, ["files"], 'must name either "model" or "encoder" and "decoder"');
    }
    if ("encoder" in files && "symbols" in files) {
      refuse(context, ["files"], 'must name "config" beside "encoder"');
    }
  });

const PHONEME_IDS = z
  .record(z.string(), z.array(whole(0), { error: "must be lists of numbers" }), {
    error: "must be a map of phonemes",
  })
  .refine((ids) => missingIn(ids).length === 0, {
    error: ({ input }) => `must contain ${missingIn(input as PhonemeIds).join(", ")}`,
  });

const CONFIG = z
  .object({
    audio: z.object({ sample_rate: number() }, { error: "must say sample_rate" }),
    espeak: z
      .object({
        voice: text().regex(ESPEAK_VOICE, { error: "must be a voice of espeak-ng" }),
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
      refuse(context, ["espeak", "voice"], "must be a voice of espeak-ng, found undefined");
    }
  });

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

/** A manifest's voices are rows of the voice's own table. */
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
