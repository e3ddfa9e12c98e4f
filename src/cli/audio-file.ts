import { extname } from "node:path";
import { UsageError } from "./command.js";
import { ResultFile } from "./result-file.js";

/** File extensions of audio and video, in lower case, that the service accepts when ffmpeg is installed. */
export const AUDIO_EXTENSIONS: readonly string[] = [
  ...[".wav", ".mp3", ".m4a", ".aac", ".mp4", ".flac", ".ogg", ".oga", ".opus", ".webm", ".weba", ".wma"],
  ...[".aif", ".aiff", ".aifc", ".caf", ".amr", ".au", ".snd", ".mka", ".mkv", ".mov", ".3gp", ".m4b"],
  ...[".ac3", ".spx", ".avi", ".mpg", ".mpeg", ".m4v", ".ogv"],
];

export const RAW_EXTENSIONS: readonly string[] = [".pcm", ".raw"];

/**
 * Opens the destination of a WAV file.
 *
 * @throws {UsageError} if the extension belongs to another audio format
 * @throws {CommandError} if the file cannot be written
 */
export async function prepareAudioFile(path: string): Promise<ResultFile> {
  const extension = extname(path);
  const known = extension.toLowerCase();
  if (known === ".wav" || ![...AUDIO_EXTENSIONS, ...RAW_EXTENSIONS].includes(known))
    return await ResultFile.prepare(path, "sound");
  const wav = `${path.slice(0, -extension.length)}.wav`;
  const convert = `ffmpeg -i ${JSON.stringify(wav)} ${JSON.stringify(path)}`;
  throw new UsageError(`-o must name a .wav file, received "${path}"; use -o ${wav}, then \`${convert}\``);
}
