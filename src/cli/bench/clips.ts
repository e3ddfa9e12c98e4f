import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { toInt16 } from "../../../core/domain/audio/pcm.js";
import { resample } from "../../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../../core/domain/audio/wav-samples.js";

/** Sample rate of clips in memory. */
export const RATE_HZ = 16_000;
/** The recordings that ship with the program, relative to the compiled file. */
const INCLUDED = new URL("../../../../src/cli/bench/clips/", import.meta.url);
/** Samples quieter than this share of the peak (-40 dB) do not count as speech. */
const SPEECH_FLOOR = 0.01;

/** A spoken sentence. */
export interface Clip {
  readonly name: string;
  /** Null if unknown; word errors are then not counted. */
  readonly text: string | null;
  /** Null for the user's own recordings. */
  readonly licence: string | null;
  /** Mono samples at {@link RATE_HZ}. */
  readonly pcm: Int16Array;
  /** First sample of the speech, and first sample after it. */
  readonly onsetSample: number;
  readonly endSample: number;
  /** The unchanged file, for uploads. */
  readonly wav: Uint8Array;
}

interface IncludedClip {
  readonly file: string;
  readonly text: string;
  readonly licence: string;
  readonly onset_s: number;
  readonly end_s: number;
}

/** Reads the included recordings, or only those in one language. */
export async function includedClips(language: string | null): Promise<readonly Clip[]> {
  const list = JSON.parse(await readFile(new URL("clips.json", INCLUDED), "utf8")) as readonly IncludedClip[];
  const wanted = list.filter(({ file }) => language === null || file.startsWith(`${language}-`));
  return await Promise.all(
    wanted.map(async ({ file, text, licence, onset_s, end_s }) => {
      const wav = await readFile(new URL(file, INCLUDED));
      const bounds = { onsetSample: Math.round(onset_s * RATE_HZ), endSample: Math.round(end_s * RATE_HZ) };
      return { name: file, text, licence, pcm: samplesOf(wav, file), wav, ...bounds };
    }),
  );
}

/**
 * Reads the WAV files of a folder, and the text of `a.wav` from `a.txt` if that exists. The speech ends with
 * the last sample above -40 dB of the file's peak.
 *
 * @throws {Error} if the folder has no WAV file, or if one has no speech
 */
export async function clipsOf(folder: string): Promise<readonly Clip[]> {
  const names = (await readdir(folder)).filter((name) => /\.wav$/i.test(name)).sort();
  if (names.length === 0) throw new Error(`no WAV file in ${folder}`);
  return await Promise.all(
    names.map(async (name) => {
      const wav = await readFile(join(folder, name));
      const text = await readFile(join(folder, name.replace(/\.wav$/i, ".txt")), "utf8").catch(() => null);
      const pcm = samplesOf(wav, name);
      return { name, text: text?.trim() ?? null, licence: null, pcm, wav, ...speechBounds(pcm, name) };
    }),
  );
}

function samplesOf(wav: Uint8Array, name: string): Int16Array {
  const { samples, fromHz } = read(wav, name);
  return toInt16(fromHz === RATE_HZ ? samples : resample(samples, { fromHz, toHz: RATE_HZ }));
}

function read(wav: Uint8Array, name: string): { readonly samples: Float32Array; readonly fromHz: number } {
  try {
    const reader = new WavSampleReader(wav.length);
    const samples = reader.push(wav);
    reader.end();
    return { samples, fromHz: reader.header!.sampleRateHz };
  } catch (error) {
    throw new Error(`cannot read ${name}: it is not a complete WAV file`, { cause: error });
  }
}

function speechBounds(pcm: Int16Array, name: string): { onsetSample: number; endSample: number } {
  const peak = pcm.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  if (peak === 0) throw new Error(`cannot use ${name}: it is silent`);
  const isLoud = (sample: number) => Math.abs(sample) > peak * SPEECH_FLOOR;
  return { onsetSample: pcm.findIndex(isLoud), endSample: pcm.findLastIndex(isLoud) + 1 };
}
