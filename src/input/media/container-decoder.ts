import { fileURLToPath } from "node:url";
import { LimitedSpawn, type ProcessLimits } from "../../../core/child-processes/limited-spawn.js";
import type { ChannelHandling } from "../../../core/domain/audio/channels.js";
import { type Container, isOggOpus } from "../../../core/domain/audio/container.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { WasmCodec } from "./wasm-process.js";

export interface ChildLimits extends Omit<ProcessLimits, "niceness"> {
  readonly wallMs: number;
}

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isTimedOut: boolean;
  /** The end of the process's standard error. Only for the log, because it may quote the file. */
  readonly stderr: string;
}

const STDERR_CHARACTERS = 4_096;
/** Low priority, because decoding must not delay speech. */
const NICENESS = 10;

/** Runs decoders of untrusted media, each in its own process (`LimitedSpawn`). */
export class LimitedChildren {
  readonly #programs = new LimitedSpawn();
  #running = 0;

  get running(): number {
    return this.#running;
  }

  /**
   * Runs a command. Settles once the process has ended, for whatever reason.
   * @throws {ServiceError} `CANCELLED` if `signal` is aborted, `INTERNAL` if it cannot be started
   */
  async run(command: readonly string[], limits: ChildLimits, signal: AbortSignal): Promise<ChildEnd> {
    if (signal.aborted) throw cancelled();
    const child = this.#programs.start(command, { ...limits, niceness: NICENESS }, [
      "ignore",
      "ignore",
      "pipe",
    ]);
    this.#running++;
    let stderr = "";
    let isTimedOut = false;
    child.stderr?.on("data", (bytes: Buffer) => {
      stderr = (stderr + bytes.toString("latin1")).slice(-STDERR_CHARACTERS);
    });
    const kill = () => void child.kill("SIGKILL");
    const timer = setTimeout(() => {
      isTimedOut = true;
      kill();
    }, limits.wallMs);
    signal.addEventListener("abort", kill, { once: true });
    try {
      const end = await new Promise<ChildEnd>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", (code, endSignal) => resolve({ code, signal: endSignal, isTimedOut, stderr }));
      });
      if (signal.aborted) throw cancelled();
      return end;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      this.#running--;
    }
  }
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "transcription was cancelled");
}

interface DecodeJob {
  readonly container: Container;
  /** First bytes of the file after its tags. */
  readonly head: Uint8Array;
  readonly sourcePath: string;
  /** File to write: a 16-bit WAV at the rate of the source, mono unless the channels are kept apart. */
  readonly targetPath: string;
  readonly channels: ChannelHandling;
  /** Decoding stops a little after this much audio. */
  readonly maxSeconds: number;
}

/** Decodes containers in a separate process. */
export interface ContainerDecoder {
  /** @throws {ServiceError} `AUDIO_UNREADABLE`, `BODY_TOO_LARGE`, `CANCELLED` */
  decode(job: DecodeJob, signal: AbortSignal): Promise<void>;
}

/** How far to decode beyond the longest allowed audio, to find out whether there is more. */
export const OVERTIME_SECONDS = 0.5;

/** Limits for a decoder process, which takes about ten seconds for two hours of audio. */
export const DECODE_LIMITS = {
  cpuSeconds: 180,
  wallMs: 900_000,
  memoryBytes: 1 << 30,
  /** Room for two hours of mono audio at 192 kHz. */
  fileBytes: 2 * 3_600 * 192_000 * 2 + 1_000_000,
} as const satisfies ChildLimits;

/** Returns the client's error for the way a decoder ended; null if it succeeded. */
function failureOf(end: ChildEnd, container: Container): ServiceError | null {
  // A decoder that ran out of disk space may still exit with 0.
  const hasNoRoom = /no space left on device|disk quota exceeded|read-only file system/i.test(end.stderr);
  if (end.code === 0 && !hasNoRoom) return null;
  const cause = new Error(`decoder ended with ${end.signal ?? end.code}: ${end.stderr.trim()}`);
  if (end.signal === "SIGXFSZ") {
    const limit = `at most ${DECODE_LIMITS.fileBytes} bytes of PCM`;
    const message = `Cannot decode the audio: it must decode to ${limit}`;
    return new ServiceError("BODY_TOO_LARGE", message, { cause });
  }
  if (hasNoRoom) {
    const message = "the service has no disk space for this file: try again later";
    return new ServiceError("STORAGE_FULL", message, { cause });
  }
  const why =
    end.isTimedOut || end.signal === "SIGKILL" || end.signal === "SIGXCPU"
      ? "decoding it takes too long"
      : "it is damaged, or holds no audio stream of a known codec";
  return new ServiceError("AUDIO_UNREADABLE", `Cannot decode the audio as ${container}: ${why}`, { cause });
}

/** The only demuxers that may run. ffmpeg is given the demuxer's name, so that it does not guess. */
const DEMUXERS: Readonly<Record<Container, string>> = {
  wav: "wav",
  mp3: "mp3",
  aac: "aac",
  mp4: "mov",
  flac: "flac",
  ogg: "ogg",
  webm: "matroska",
  aiff: "aiff",
  caf: "caf",
  amr: "amr",
  au: "au",
};

/** The only codecs that may run, even for probing: none for video, pictures or subtitles. */
const CODECS = [
  ...["aac", "ac3", "alac", "amrnb", "amrwb", "flac", "libopus", "opus", "libspeex", "speex", "vorbis"],
  ...["mp1", "mp1float", "mp2", "mp2float", "mp3", "mp3float", "gsm", "gsm_ms", "g722"],
  ...["adpcm_ima_qt", "adpcm_ima_wav", "adpcm_ms", "adpcm_yamaha"],
  ...["pcm_alaw", "pcm_mulaw", "pcm_u8", "pcm_s8", "pcm_f32be", "pcm_f32le", "pcm_f64be", "pcm_f64le"],
  ...["pcm_s16be", "pcm_s16le", "pcm_s24be", "pcm_s24le", "pcm_s32be", "pcm_s32le"],
];

/** A longer gap between frames means a damaged clock, and would be charged as audio. */
const LONGEST_GAP_SECONDS = 60;

const FORMATS: Readonly<Record<ChannelHandling, string>> = {
  mix: "aformat=channel_layouts=mono:sample_fmts=s16",
  split: "aformat=sample_fmts=s16",
};

const FILTERS = [
  `asetpts='if(isnan(PREV_OUTPTS),PTS,PREV_OUTPTS+clip(PTS-PREV_INPTS,0,${LONGEST_GAP_SECONDS}/TB))'`,
  // Remaining gaps become silence, so that word times match the file's times.
  "aresample=async=1",
  // From here on, time counts samples, so the length limit holds whatever the file's clock says.
  "asetpts=N/SR/TB",
].join(",");

/** Runs ffmpeg as a child process that reads one file, writes one, and may open no others. */
export function ffmpegDecoder(program: string, children: LimitedChildren): ContainerDecoder {
  return {
    async decode(job, signal) {
      const end = await children.run([program, ...ffmpegArguments(job)], DECODE_LIMITS, signal);
      const failure = failureOf(end, job.container);
      if (failure !== null) throw failure;
    },
  };
}

function ffmpegArguments({ container, sourcePath, targetPath, maxSeconds, channels }: DecodeJob): string[] {
  const demuxer = DEMUXERS[container];
  return [
    ...["-nostdin", "-hide_banner", "-loglevel", "error", "-n"],
    ...["-protocol_whitelist", "file", "-format_whitelist", demuxer, "-codec_whitelist", CODECS.join(",")],
    ...["-probesize", "5000000", "-analyzeduration", "10000000", "-threads", "1"],
    ...["-f", demuxer, "-i", `file:${sourcePath}`],
    ...["-map", "0:a:0", "-map_metadata", "-1", "-map_chapters", "-1", "-filter_threads", "1"],
    ...["-af", `${FORMATS[channels]},${FILTERS}`, "-t", String(maxSeconds + OVERTIME_SECONDS)],
    ...["-c:a", "pcm_s16le", "-bitexact", "-f", "wav", `file:${targetPath}`],
  ];
}

const PROGRAM = fileURLToPath(new URL("./wasm-process.js", import.meta.url));
/**
 * Node reserves far more address space than it uses, so limit its heap; each module limits its own memory.
 */
const LIMITS = { ...DECODE_LIMITS, memoryBytes: null };
const HEAP_MEBIBYTES = 256;

/** Decodes MP3, FLAC and Ogg Opus in a child process, without ffmpeg. */
export function wasmDecoder(children: LimitedChildren): ContainerDecoder {
  return {
    async decode(job, signal) {
      const codec = wasmCodec(job);
      if (codec === null) throw needsFfmpeg(job.container);
      const node = [process.execPath, `--max-old-space-size=${HEAP_MEBIBYTES}`, PROGRAM];
      const seconds = String(job.maxSeconds + OVERTIME_SECONDS);
      const command = [...node, codec, job.sourcePath, job.targetPath, seconds, job.channels];
      const failure = failureOf(await children.run(command, LIMITS, signal), job.container);
      if (failure !== null) throw failure;
    },
  };
}

function wasmCodec({ container, head }: DecodeJob): WasmCodec | null {
  if (container === "mp3" || container === "flac") return container;
  return container === "ogg" && isOggOpus(head) ? "opus" : null;
}

function needsFfmpeg(container: Container): ServiceError {
  return new ServiceError(
    "AUDIO_UNREADABLE",
    `Cannot decode this ${container}: the server has no ffmpeg; send PCM WAV, MP3, FLAC or Ogg Opus, or install ffmpeg there`,
  );
}
