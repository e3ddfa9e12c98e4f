import { extname } from "node:path";
import { UsageError } from "./command.js";
import { ResultFile } from "./result-file.js";
import { SOUND_ENDINGS } from "./sound-endings.js";

/** Raw samples without a header. */
const RAW_ENDINGS: readonly string[] = [".pcm", ".raw"];

/**
 * Opens the destination of a WAV.
 *
 * @throws {UsageError} if the extension belongs to another audio format
 * @throws {CommandError} if the file cannot be written
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
  throw new UsageError(`-o must name a .wav file, received "${path}"; use -o ${wav}, then \`${convert}\``);
}
