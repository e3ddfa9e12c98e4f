import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CatalogueEntry, readCatalogue } from "../../src/models/catalogue.js";
import { temporaryFolder } from "./folders.js";
import { type Repository, sha256 } from "./local-hub.js";

export const COMMIT = "0123456789abcdef0123456789abcdef01234567";
export const TOKEN = "hf_test";
const ADAPTERS = "test/fixtures/adapters";

async function filesOf(
  name: string,
  paths: readonly string[],
): Promise<Readonly<Record<string, Uint8Array>>> {
  const read = paths.map(async (path) => [path, await readFile(join(ADAPTERS, name, path))] as const);
  return Object.fromEntries(await Promise.all(read));
}

const GIGAAM = await filesOf("tiny-gigaam-ctc", ["model.onnx", "tokens.txt", "vad.onnx"]);
const MATCHA = await filesOf("tiny-matcha", ["acoustic.onnx", "vocoder.onnx", "symbols.json"]);

/**
 * The repositories of the test hub: a recognizer, its voice activity graph in another repository, a voice,
 * and a gated one.
 */
export const REPOSITORIES: Readonly<Record<string, Repository>> = {
  "tiny/gigaam": {
    commit: COMMIT,
    files: { "ctc.onnx": GIGAAM["model.onnx"]!, "vocab.txt": GIGAAM["tokens.txt"]! },
  },
  "tiny/vad": { commit: COMMIT, files: { "silero/vad.onnx": GIGAAM["vad.onnx"]! } },
  "tiny/matcha": { commit: COMMIT, files: MATCHA },
  "tiny/gated": { commit: COMMIT, files: MATCHA, token: TOKEN },
};

/** The fields of entries and their files that a test changes. */
export interface Changes {
  readonly entry?: Partial<Record<string, object>>;
  /** Changes by the file's name in the manifest. */
  readonly file?: Readonly<Record<string, object>>;
}

/** Writes a catalogue of the tiny packages. @returns its path and its content */
export async function tinyCatalogue({
  entry = {},
  file = {},
}: Changes = {}): Promise<{ readonly path: string; readonly catalogue: readonly CatalogueEntry[] }> {
  const fileOf = (name: string, from: string, path: string, bytes: Uint8Array) => ({
    [name]: { from, path, bytes: bytes.length, sha256: sha256(bytes), ...file[name] },
  });
  const voices = [{ name: "first", index: 0 }];
  const voice = (name: string, repository: string) => ({
    name,
    task: "synthesis",
    family: "matcha",
    languages: ["kk"],
    licence: { name: "CC-BY-NC-4.0", url: "https://example.org/nc", isRestricted: true },
    source: { repository, revision: COMMIT },
    variants: {
      fp32: {
        files: {
          ...fileOf("acoustic", "acoustic.onnx", "acoustic.onnx", MATCHA["acoustic.onnx"]!),
          ...fileOf("vocoder", "vocoder.onnx", "vocoder.onnx", MATCHA["vocoder.onnx"]!),
          ...fileOf("symbols", "symbols.json", "symbols.json", MATCHA["symbols.json"]!),
        },
      },
    },
    manifest: {
      interfaceVersion: 1,
      sampleRateHz: 22_050,
      hopSamples: 256,
      melBins: 80,
      temperature: 0,
      voices,
      defaultVoice: "first",
    },
    ...entry[name],
  });
  const recogniserFiles = {
    ...fileOf("model", "ctc.onnx", "model.onnx", GIGAAM["model.onnx"]!),
    ...fileOf("vocabulary", "vocab.txt", "tokens.txt", GIGAAM["tokens.txt"]!),
  };
  const entries = [
    {
      name: "tiny-listener",
      task: "transcription",
      family: "gigaam-ctc",
      languages: ["ru"],
      licence: { name: "MIT", url: "https://example.org/mit", isRestricted: false },
      quality: [{ set: "ru test", figure: 12.5, unit: "% WER", source: "nobody" }],
      can: { livePartials: true, hotWords: true },
      source: { repository: "tiny/gigaam", revision: COMMIT },
      vads: { silero: "tiny-vad" },
      variants: { fp32: { files: recogniserFiles }, int8: { files: recogniserFiles } },
      manifest: {
        interfaceVersion: 1,
        sampleRateHz: 16_000,
        frontEnd: "gigaam-v3",
        melBins: 64,
        subsampling: 4,
      },
      ...entry["tiny-listener"],
    },
    {
      name: "tiny-vad",
      task: "part",
      family: null,
      licence: { name: "MIT", url: "https://example.org/mit", isRestricted: false },
      source: { repository: "tiny/vad", revision: COMMIT },
      variants: {
        fp32: {
          files: {
            model: {
              from: "silero/vad.onnx",
              path: "silero_vad.onnx",
              bytes: GIGAAM["vad.onnx"]!.length,
              sha256: sha256(GIGAAM["vad.onnx"]!),
            },
          },
        },
      },
      ...entry["tiny-vad"],
    },
    voice("tiny-speaker", "tiny/matcha"),
    voice("tiny-gated", "tiny/gated"),
  ];
  const path = join(await temporaryFolder(), "catalogue.json");
  await writeFile(path, JSON.stringify(entries));
  return { path, catalogue: await readCatalogue(path) };
}
