import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SpeechDoubt } from "../../src/domain/decoding/beam-decoder.js";
import { outputBias } from "../../src/domain/decoding/output-bias.js";
import { ServiceError } from "../../src/domain/errors.js";
import {
  EXTERNAL_RECOGNIZERS,
  type ExternalRecognizerFamily,
  isExternalRecognizer,
  parseExternalRecognizer,
} from "./external-manifest.js";
import { parseF5 } from "./f5/manifest.js";
import { requireNumber, requireString } from "./manifest-fields.js";
import { parseMatcha } from "./matcha/manifest.js";

/** A file of a package and the hash it must have. */
interface PackageFile {
  readonly path: string;
  readonly sha256: string;
}

export interface ManifestVoice {
  readonly name: string;
  /** The voice's row in the graphs' embedding. */
  readonly index: number;
  readonly gender: string | null;
  readonly style: string | null;
  readonly best_for: string | null;
}

interface ManifestBase {
  readonly id: string;
  readonly languages: readonly string[];
  readonly sampleRateHz: number;
  /** Version of the tensor interface that the adapter named by `family` speaks. */
  readonly interfaceVersion: number;
  readonly files: Readonly<Record<string, PackageFile>>;
}

/** A recogniser. What is said of a streaming encoder has defaults in families of public weights. */
export interface RecognizerManifest extends ManifestBase {
  readonly task: "transcription";
  /** `ctc-two-pass`: a streaming encoder with CTC and speech outputs, and a full-context second pass. */
  readonly family: "ctc-two-pass" | ExternalRecognizerFamily;
  readonly frameSamples: number;
  /** Left context of the streaming encoder: after this many frames its output forgets where it began. */
  readonly contextFrames: number;
  /** Digital silence appended after an utterance so that its last letters come out. */
  readonly flushSamples: number;
  readonly decoding: DecodingParameters;
}

export interface DecodingParameters {
  readonly beamWidth: number;
  readonly languageModelWeight: number;
  readonly characterBonus: number;
  readonly wordBonus: number;
  /** See `BeamDecoder`; without it every text is taken. */
  readonly evidencePerCharacter?: number;
  /** See `BeamDecoder`; without it voice activity is never doubted. */
  readonly doubt?: SpeechDoubt;
  /** Share of the outputs' priors (file `priors`) that the search takes out; see `outputBias`. */
  readonly priorWeight?: number;
  /**
   * How long after it was spoken a letter is given out, which words' times are put right by, and by which the letters of live
   * partials are told apart at an utterance's end; 0 when absent. CTC is free to be late: nothing in its training says when.
   */
  readonly emissionDelaySeconds?: number;
}

/** A synthesizer. `flow-matching`: text encoder, condition, solver step, vocoder; `matcha`, `f5`: public weights. */
export interface SynthesizerManifest extends ManifestBase {
  readonly task: "synthesis";
  readonly family: "flow-matching" | "matcha" | "f5";
  readonly hopSamples: number;
  readonly melBins: number;
  readonly voices: readonly ManifestVoice[];
  readonly defaultVoice: string;
}

const TASK_OF_FAMILY: ReadonlyMap<string, ModelManifest["task"]> = new Map([
  ["ctc-two-pass", "transcription"],
  ...EXTERNAL_RECOGNIZERS.map((family) => [family, "transcription"] as const),
  ["flow-matching", "synthesis"],
  ["matcha", "synthesis"],
  ["f5", "synthesis"],
]);

export type ModelManifest = RecognizerManifest | SynthesizerManifest;

export interface ModelPackage<M extends ModelManifest = ModelManifest> {
  readonly folder: string;
  readonly manifest: M;
}

/** Reads and checks every package of a models folder; folders without a manifest are not packages. */
export async function findPackages(modelsFolder: string): Promise<ModelPackage[]> {
  const packages: ModelPackage[] = [];
  for (const entry of await readdir(modelsFolder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const folder = join(modelsFolder, entry.name);
    const manifest = await readManifest(folder);
    if (manifest !== null) packages.push({ folder, manifest });
  }
  return packages.sort((a, b) => a.manifest.id.localeCompare(b.manifest.id));
}

/** @throws {ServiceError} `MODEL_BROKEN` naming the file and what is wrong with it */
export async function readManifest(folder: string): Promise<ModelManifest | null> {
  const path = join(folder, "manifest.json");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new ServiceError("MODEL_BROKEN", `Cannot read ${path}`, { cause: error });
  }
  try {
    return parseManifest(JSON.parse(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServiceError("MODEL_BROKEN", `Cannot use ${path}: ${reason}`, { cause: error });
  }
}

/**
 * The package in `folder`, which must be one for `task`.
 * @throws {ServiceError} `MODEL_BROKEN`
 */
export async function readPackage<M extends ModelManifest>(
  folder: string,
  task: M["task"],
): Promise<ModelPackage<M>> {
  const manifest = await readManifest(folder);
  if (manifest?.task === task) return { folder, manifest: manifest as M };
  const found = manifest === null ? "no manifest.json" : `one for ${manifest.task}`;
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${folder}: it must be a package for ${task}, found ${found}`,
  );
}

/**
 * The bytes of one file of a package, after its hash was checked.
 * @throws {ServiceError} `MODEL_BROKEN` when the file is not named, missing, or not the one the manifest was made for
 */
export async function readPackageFile(model: ModelPackage, name: string): Promise<Uint8Array> {
  const file = model.manifest.files[name];
  if (file === undefined) {
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot load ${model.manifest.id}: its manifest names no file "${name}"`,
    );
  }
  const path = join(model.folder, file.path);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new ServiceError("MODEL_BROKEN", `Cannot load ${model.manifest.id}: ${path} cannot be read`, {
      cause: error,
    });
  }
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (sha256 !== file.sha256) {
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot load ${model.manifest.id}: sha256 of ${path} must be ${file.sha256}, found ${sha256}`,
    );
  }
  return bytes;
}

/** Outputs of a recogniser: characters, after the blank. @throws {ServiceError} `MODEL_BROKEN` */
export async function readVocabulary(model: ModelPackage<RecognizerManifest>): Promise<readonly string[]> {
  return JSON.parse(new TextDecoder().decode(await readPackageFile(model, "vocabulary"))) as string[];
}

/**
 * What the package's priors add to its outputs before the search; null for a package without them.
 * @throws {ServiceError} `MODEL_BROKEN` when they are not one number for each output
 */
export async function readOutputBias(
  model: ModelPackage<RecognizerManifest>,
  vocabulary: readonly string[],
): Promise<Float32Array | null> {
  const { priorWeight } = model.manifest.decoding;
  if (priorWeight === undefined) return null;
  const priors: unknown = JSON.parse(new TextDecoder().decode(await readPackageFile(model, "priors")));
  const isPrior = (value: unknown) => typeof value === "number" && value >= 0;
  if (!Array.isArray(priors) || priors.length !== vocabulary.length || !priors.every(isPrior)) {
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot load ${model.manifest.id}: priors must be ${vocabulary.length} numbers of 0 or more`,
    );
  }
  return outputBias(priors as number[], priorWeight);
}

function parseManifest(value: unknown): ModelManifest {
  const manifest = value as Record<string, unknown>;
  requireString(manifest, "id");
  requireNumber(manifest, "sampleRateHz");
  if (requireNumber(manifest, "interfaceVersion") !== 1) {
    throw new Error(`interfaceVersion must be 1, found ${String(manifest["interfaceVersion"])}`);
  }
  for (const [name, file] of Object.entries((manifest["files"] ?? {}) as Record<string, unknown>)) {
    const { path, sha256 } = (file ?? {}) as Record<string, unknown>;
    if (typeof path !== "string" || path.includes("..") || path.startsWith("/")) {
      throw new Error(`files.${name}.path must be a path inside the package`);
    }
    if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) {
      throw new Error(`files.${name}.sha256 must be 64 hexadecimal digits`);
    }
  }
  const family = manifest["family"];
  const task = TASK_OF_FAMILY.get(String(family));
  if (task === undefined) {
    throw new Error(
      `family must be one of ${[...TASK_OF_FAMILY.keys()].join(", ")}, found ${String(family)}`,
    );
  }
  if (manifest["task"] !== task) throw new Error(`task must be ${task}, found ${String(manifest["task"])}`);
  if (isExternalRecognizer(family)) return parseExternalRecognizer(manifest, family);
  if (family === "ctc-two-pass") {
    for (const field of ["frameSamples", "contextFrames", "flushSamples"]) requireNumber(manifest, field);
    const decoding = (manifest["decoding"] ?? {}) as Record<string, unknown>;
    for (const field of ["beamWidth", "languageModelWeight", "characterBonus", "wordBonus"]) {
      requireNumber(decoding, field);
    }
    for (const field of ["evidencePerCharacter", "priorWeight", "emissionDelaySeconds"]) {
      if (decoding[field] !== undefined) requireNumber(decoding, field);
    }
    if (decoding["doubt"] !== undefined) {
      const doubt = (decoding["doubt"] ?? {}) as Record<string, unknown>;
      for (const field of ["below", "evidence"]) requireNumber(doubt, field);
    }
    const files = (manifest["files"] ?? {}) as Record<string, unknown>;
    if (decoding["priorWeight"] !== undefined && files["priors"] === undefined) {
      throw new Error("decoding.priorWeight needs a file priors");
    }
    return value as RecognizerManifest;
  }
  for (const field of ["hopSamples", "melBins"]) requireNumber(manifest, field);
  const voices = manifest["voices"];
  if (!Array.isArray(voices) || voices.length === 0)
    throw new Error("voices must be a list that is not empty");
  for (const voice of voices as ManifestVoice[]) {
    if (!Number.isInteger(voice.index) || voice.index < 0) {
      throw new Error(`index of voice ${voice.name} must be a whole number, found ${voice.index}`);
    }
  }
  const defaultVoice = requireString(manifest, "defaultVoice");
  if (!voices.some((voice: ManifestVoice) => voice.name === defaultVoice)) {
    throw new Error(`defaultVoice must be one of the voices, found ${defaultVoice}`);
  }
  const synthesizer = value as SynthesizerManifest;
  if (family === "f5") return parseF5(synthesizer);
  return family === "matcha" ? parseMatcha(synthesizer) : synthesizer;
}
