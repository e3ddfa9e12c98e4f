import { extname } from "node:path";
import { UsageError } from "./command.js";
import { ResultFile } from "./result-file.js";
import { SOUND_ENDINGS } from "./sound-endings.js";

/** Samples without a header are no WAV either. */
const RAW_ENDINGS: readonly string[] = [".pcm", ".raw"];

/**
 * A place for a WAV, tried.
 *
 * @throws {UsageError} for the name of sound that is no WAV: the file would lie about what it holds
 * @throws {CommandError} when the file could not be written
 */
export async function prepareSoundFile(path: string): Promise<ResultFile> {
  requireWavName(path);
  return ResultFile.prepare(path, "sound");
}

function requireWavName(path: string): void {
  const ending = extname(path);
  const isOtherSound = ending.toLowerCase() !== ".wav" && SOUND_ENDINGS.includes(ending.toLowerCase());
  if (!isOtherSound && !RAW_ENDINGS.includes(ending.toLowerCase())) return;
  const wav = `${path.slice(0, -ending.length)}.wav`;
  const convert = `ffmpeg -i ${JSON.stringify(wav)} ${JSON.stringify(path)}`;
  throw new UsageError(`the sound is a WAV, not ${ending}: say -o ${wav}, then ${convert}`);
}
