import { z } from "zod";
import type { WindowShape } from "../../core/domain/diarization/windows.js";
import { type ManifestFile, packageFiles } from "./package-files.js";
import { between, choice, number, refuse, text, whole } from "./rules.js";

export interface ManifestVoice extends Readonly<z.output<z.ZodObject<typeof VOICE_FIELDS>>> {
  /** Pitch range, for families that can change it. */
  readonly melody?: number | undefined;
  /** Mean of its pitch on a log scale, which `melody` keeps. */
  readonly pitchHz?: number | undefined;
}

interface ManifestBase {
  readonly id: string;
  readonly family: string;
  readonly languages: readonly string[];
  /** Version of the tensor interface, as the family's adapter expects it. */
  readonly interfaceVersion: number;
  /** Limitations of the model, in sentences for users. */
  readonly notes?: string | undefined;
  /** Date of its weights, `2026-11-21`. */
  readonly created?: string | undefined;
  readonly files: Readonly<Record<string, ManifestFile>>;
}

interface SpeechManifest extends ManifestBase {
  readonly sampleRateHz: number;
}

/** A recogniser's manifest, with its family's defaults applied. */
export interface RecognizerManifest extends SpeechManifest {
  readonly task: "transcription";
  readonly frameSamples: number;
  /**
   * Left context of the streaming encoder: after this many frames, its output does not depend on the start.
   */
  readonly contextFrames: number;
  /** Digital silence appended to an utterance to flush its last letters. */
  readonly flushSamples: number;
  readonly decoding: DecodingParameters;
}

export interface SynthesizerManifest extends SpeechManifest {
  readonly task: "synthesis";
  readonly voices: readonly ManifestVoice[];
  readonly defaultVoice: string;
}

/** A synthesizer with a mel spectrogram between its graphs. */
export interface MelSynthesizerManifest extends SynthesizerManifest {
  readonly hopSamples: number;
  readonly melBins: number;
}

/** A model that writes marks and capitals into transcripts. */
export interface PunctuationManifest extends ManifestBase {
  readonly task: "punctuation";
}

/** A model for speaker labels, with its family's defaults applied. */
export interface DiarizationManifest extends SpeechManifest, WindowShape {
  readonly task: "diarization";
  readonly clusterThreshold: number;
  readonly leastTurnSeconds: number;
  readonly leastGapSeconds: number;
}

export type ModelManifest =
  | RecognizerManifest
  | SynthesizerManifest
  | PunctuationManifest
  | DiarizationManifest;

/** Purpose of a model; a service has a default model for each task. */
export type Task = ModelManifest["task"];
export const TASKS = [
  "transcription",
  "synthesis",
  "punctuation",
  "diarization",
] as const satisfies readonly Task[];

/** Requirements for a package of a family. */
export interface PackageSchema<M extends ModelManifest = ModelManifest, C = unknown> {
  readonly manifest: z.ZodType<M>;
  /** Names of its JSON files; the schema sees `undefined` for one that the manifest does not list. */
  readonly jsonFiles: readonly string[];
  /** Contents of these files together, by name. */
  contents(manifest: M): z.ZodType<C>;
}

const PLAIN_FILE = z.object({
  path: z.custom<string>(
    (path) => typeof path === "string" && !path.includes("..") && !path.startsWith("/"),
    { error: "must be a path inside the package" },
  ),
  sha256: z.custom<string>((hash) => typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash), {
    error: "must be 64 hexadecimal digits",
  }),
  external: z.array(text(), { error: "must be a list of file names" }).optional(),
});
const FILE = z.preprocess(
  // For a null file, report the rule of its path.
  (file) => file ?? {},
  PLAIN_FILE.extend({ gpu: PLAIN_FILE.optional() }),
);
const FILES = z
  .record(z.string(), FILE, { error: "must list files" })
  .prefault({})
  .superRefine((files, context) => {
    for (const { name, isForGpu, path, external = [] } of packageFiles(files)) {
      const at = isForGpu ? [name, "gpu"] : [name];
      for (const side of external) requireSideFile(context, { at, path }, { side, path: files[side]?.path });
    }
  });

/** The runtime looks for a graph's side files only in the graph's folder. */
function requireSideFile(
  context: z.core.$RefinementCtx,
  graph: { readonly at: readonly string[]; readonly path: string },
  { side, path }: { readonly side: string; readonly path: string | undefined },
): void {
  const at = [...graph.at, "external"];
  if (path === undefined) refuse(context, at, `must be file names, found ${side}`);
  else if (!path.startsWith(graph.path.slice(0, graph.path.lastIndexOf("/") + 1))) {
    refuse(context, at, `must be in the folder of ${graph.path} or below it, found ${path}`);
  }
}

/** Fields of every manifest, in the order of their checks. */
const BASE = {
  id: text(),
  family: text(),
  interfaceVersion: number().refine((version) => version === 1, {
    error: (issue) => `must be 1, found ${String(issue.input)}`,
  }),
  languages: z.array(text(), { error: "must be a list of language codes" }),
  notes: text().optional(),
  created: z.iso.date({ error: "must be a date such as 2026-11-21" }).optional(),
  files: FILES,
};

/** Checks a manifest whose family is not known yet. */
export const ANY_MANIFEST = z.object({ ...BASE, task: z.unknown() });

/** Fields in the order of the checks: the rate follows the family. */
const { id, family, ...AFTER_FAMILY } = BASE;
const SPEECH = { id, family, sampleRateHz: number(), ...AFTER_FAMILY };

export const RECOGNIZER_FIELDS = { ...SPEECH, task: choice(["transcription"]) };

export const PUNCTUATION_FIELDS = { ...BASE, task: choice(["punctuation"]) };

export const DIARIZATION_FIELDS = {
  ...SPEECH,
  task: choice(["diarization"]),
  sampleRateHz: number().refine((rate) => rate === 16_000, {
    error: (issue) => `must be 16000, found ${String(issue.input)}`,
  }),
};

export const DECODING_FIELDS = {
  beamWidth: number(),
  languageModelWeight: number(),
  characterBonus: number(),
  wordBonus: number(),
  /** See `BeamDecoder`; without it every text is accepted. */
  evidencePerCharacter: number().optional(),
  /** See `BeamDecoder`; without it voice activity is never doubted. */
  doubt: z.object({ below: number(), evidence: number() }).optional(),
  /** Share of the outputs' priors (file `priors`) to remove before the search, see `outputBias`. */
  priorWeight: number().optional(),
  /**
   * Mean delay from a spoken letter to its output, 0 by default, since CTC training does not fix it. Used to
   * correct word times, and to assign letters of live partials at the end of an utterance.
   */
  emissionDelaySeconds: number().optional(),
};

export type DecodingParameters = z.output<z.ZodObject<typeof DECODING_FIELDS>>;

export const VOICE_FIELDS = {
  name: text(),
  /** The voice's row in the graphs' embedding. */
  index: whole(0),
  gender: z.string().nullable().default(null),
  style: z.string().nullable().default(null),
  best_for: z.string().nullable().default(null),
  /** Adjustments to the trained voice, see `VoiceManner`. */
  pace: between(0.5, 2).optional(),
  breath: between(0, 4).optional(),
  roomToneHz: between(50, 12_000).optional(),
};

export const SYNTHESIZER_FIELDS = {
  ...SPEECH,
  task: choice(["synthesis"]),
  sampleRateHz: whole(8_000),
  voices: voicesOf(VOICE_FIELDS),
  defaultVoice: text(),
};

export const MEL_SYNTHESIZER_FIELDS = { ...SYNTHESIZER_FIELDS, hopSamples: number(), melBins: number() };

export function voicesOf<T extends z.core.$ZodLooseShape>(fields: T) {
  const error = "must be a non-empty list";
  return z.array(z.object(fields), { error }).min(1, { error });
}

/** Rejects duplicate names of voices, and a default voice that is not in the list. */
export function requireVoices(
  { voices, defaultVoice }: Pick<SynthesizerManifest, "voices" | "defaultVoice">,
  context: z.core.$RefinementCtx,
): void {
  const names = voices.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) refuse(context, ["voices"], `must have unique names, found ${twice} twice`);
  if (names.includes(defaultVoice)) return;
  refuse(context, ["defaultVoice"], `must be one of the voices, found ${defaultVoice}`);
}
