import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * The duration of a page in microseconds. Damage costs an Ogg file at least a page, and a short clip would be
 * a single page.
 */
const SHORT_PAGES = ["-page_duration", "60000"];
/** The encoding of each clip. The bit rates are high enough not to affect transcripts. */
const ENCODINGS = {
  "speech.mp3": ["-c:a", "libmp3lame", "-b:a", "128k"],
  "tagged.mp3": ["-c:a", "libmp3lame", "-b:a", "128k", "-metadata", `title=${"ә".repeat(40_000)}`],
  "speech.m4a": ["-c:a", "aac", "-b:a", "128k"],
  "streaming.mp4": ["-c:a", "aac", "-b:a", "128k", "-movflags", "frag_keyframe+empty_moov"],
  "speech.aac": ["-c:a", "aac", "-b:a", "128k", "-f", "adts"],
  "alac.m4a": ["-c:a", "alac"],
  "speech.flac": ["-c:a", "flac"],
  "opus.ogg": ["-c:a", "libopus", "-b:a", "64k", ...SHORT_PAGES],
  "vorbis.ogg": ["-c:a", "libvorbis", "-q:a", "6", ...SHORT_PAGES],
  "speech.webm": ["-c:a", "libopus", "-b:a", "64k"],
  "speech.aiff": ["-c:a", "pcm_s16be"],
  "speech.caf": ["-c:a", "pcm_s16le"],
  "speech.au": ["-c:a", "pcm_mulaw"],
  "adpcm.wav": ["-c:a", "adpcm_ms"],
  "rf64.wav": ["-c:a", "pcm_s16le", "-rf64", "always"],
  "float.wav": ["-c:a", "pcm_f32le"],
  "alaw.wav": ["-c:a", "pcm_alaw"],
  "mulaw.wav": ["-c:a", "pcm_mulaw"],
  "unsigned8.wav": ["-c:a", "pcm_u8"],
  "pcm24.wav": ["-c:a", "pcm_s24le"],
  "pcm32.wav": ["-c:a", "pcm_s32le"],
  "float64.wav": ["-c:a", "pcm_f64le"],
  "stereo44.wav": ["-c:a", "pcm_s24le", "-af", "pan=stereo|c0=c0|c1=c0", "-ar", "44100"],
} as const satisfies Record<string, readonly string[]>;

export type ClipName = keyof typeof ENCODINGS | "video.mp4" | "second-stream.mp4";

export const CLIP_NAMES: readonly ClipName[] = [
  ...(Object.keys(ENCODINGS) as (keyof typeof ENCODINGS)[]),
  "video.mp4",
  "second-stream.mp4",
];

/**
 * The clips that get damaged copies. They cover each demuxer and codec of common files, and our own WAV
 * reader.
 */
export const MUTATED_CLIPS: readonly ClipName[] = [
  ...(["speech.mp3", "speech.m4a", "speech.aac", "speech.flac", "opus.ogg", "vorbis.ogg"] as const),
  ...(["speech.webm", "video.mp4", "adpcm.wav", "alaw.wav"] as const),
];

/** Endless picture sources, which are mixed into a clip and cut where its speech ends. */
const PICTURES = ["-f", "lavfi", "-i", "testsrc=s=64x64:r=5"];
const TONE = ["-f", "lavfi", "-i", "sine=frequency=440"];

const made = new Map<string, Promise<void>>();

/**
 * Returns the path of a WAV file's clip in `folder`. Creates all clips in one run, because starting ffmpeg
 * takes nearly all of the time.
 */
export async function makeClip(name: ClipName, wavPath: string, folder: string): Promise<string> {
  const source = `${wavPath} ${folder}`;
  const encoded = made.get(source) ?? encodeAll(wavPath, folder);
  made.set(source, encoded);
  await encoded;
  return join(folder, name);
}

export async function ffmpeg(args: readonly string[]): Promise<void> {
  await run("ffmpeg", ["-nostdin", "-v", "error", "-y", ...args]);
}

async function encodeAll(wavPath: string, folder: string): Promise<void> {
  const outputs = CLIP_NAMES.flatMap((name) => [...outputOptions(name), join(folder, name)]);
  await ffmpeg(["-i", wavPath, ...PICTURES, ...TONE, ...outputs]);
}

function outputOptions(name: ClipName): readonly string[] {
  const aac = ["-c:a", "aac", "-b:a", "128k", "-shortest"];
  if (name === "video.mp4") return ["-map", "1:v", "-map", "0:a", "-c:v", "mpeg4", ...aac];
  if (name === "second-stream.mp4") return ["-map", "0:a", "-map", "2:a", ...aac];
  return ["-map", "0:a", ...ENCODINGS[name]];
}
