import { Espeak, findEspeak } from "../../phonemes/espeak.js";
import { sentencesOfPhonemes } from "../../phonemes/piper-phonemes.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import type { VitsContents, VitsManifest } from "./manifest.js";
import { type EncodedSentence, encodeCharacters, encodePhonemes } from "./phoneme-ids.js";

/** Id of the blank in MMS's tokenizer. */
const BLANK = 0;

/** Turns text into sentences of phonemes or characters, and these into a graph's ids. */
export interface SentenceReader {
  read(text: string, signal: AbortSignal): Promise<readonly (readonly string[])[]>;
  encode(phonemes: readonly string[]): EncodedSentence;
  close(): void;
}

/** @throws {ServiceError} `MODEL_BROKEN` if espeak-ng or its voice is missing */
export async function openReader(model: ModelPackage<VitsManifest, VitsContents>): Promise<SentenceReader> {
  const { config, symbols } = model.contents;
  if (config === undefined) {
    const blank = model.manifest.addsBlanks ? BLANK : null;
    return {
      read: (text) => Promise.resolve([[...text.normalize("NFC").toLowerCase()]]),
      encode: (characters) => encodeCharacters(characters, symbols!, { blank }),
      close: () => {},
    };
  }
  const encode = (phonemes: readonly string[]) => encodePhonemes(phonemes, config.phoneme_id_map);
  const espeak = await openEspeak(model);
  if (espeak === null) {
    const read = (text: string) => Promise.resolve([[...text.toLowerCase().normalize("NFD")]]);
    return { read, encode, close: () => {} };
  }
  return {
    read: async (text, signal) => sentencesOfPhonemes(await espeak.read(text, signal), config.phoneme_map),
    encode,
    close: () => espeak.close(),
  };
}

async function openEspeak(model: ModelPackage<VitsManifest, VitsContents>): Promise<Espeak | null> {
  const { config } = model.contents;
  if (config === undefined || config.phoneme_type !== "espeak" || config.espeak === undefined) return null;
  const { id } = model.manifest;
  const program = findEspeak(process.env["PATH"] ?? "");
  if (program === null) {
    const rule = "its voices need espeak-ng, which is not on PATH: apt-get install espeak-ng";
    throw brokenModel(`Cannot load ${id}: ${rule}`);
  }
  const { voice } = config.espeak;
  const espeak = new Espeak({ voice, program });
  try {
    // Report an unknown language now, not at the first sentence.
    await espeak.read("а", new AbortController().signal);
  } catch (error) {
    espeak.close();
    const reason = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message;
    const rule = `espeak.voice must be a working espeak-ng voice, found ${voice}: ${reason}`;
    throw brokenModel(`Cannot load ${fileNameOf(model, "config")}: ${rule}`, error);
  }
  return espeak;
}
