import type { Container } from "../../../core/domain/audio/container.js";
import {
  type ContainerDecoder,
  DECODE_LIMITS,
  type DecodeJob,
  failureOf,
  OVERTIME_SECONDS,
} from "./container-decoder.js";
import type { LimitedChildren } from "./limited-child.js";

/** The only demuxers that may run. ffmpeg gets the demuxer by name and does not guess. */
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

/** The only decoders that may run, even for probing: none for video, pictures or subtitles. */
const CODECS = [
  ...["aac", "ac3", "alac", "amrnb", "amrwb", "flac", "libopus", "opus", "libspeex", "speex", "vorbis"],
  ...["mp1", "mp1float", "mp2", "mp2float", "mp3", "mp3float", "gsm", "gsm_ms", "g722"],
  ...["adpcm_ima_qt", "adpcm_ima_wav", "adpcm_ms", "adpcm_yamaha"],
  ...["pcm_alaw", "pcm_mulaw", "pcm_u8", "pcm_s8", "pcm_f32be", "pcm_f32le", "pcm_f64be", "pcm_f64le"],
  ...["pcm_s16be", "pcm_s16le", "pcm_s24be", "pcm_s24le", "pcm_s32be", "pcm_s32le"],
];

/** A longer gap between frames is a damaged clock, and would be charged as audio. */
const LONGEST_GAP_SECONDS = 60;

const FILTERS = [
  "aformat=channel_layouts=mono:sample_fmts=s16",
  `asetpts='if(isnan(PREV_OUTPTS),PTS,PREV_OUTPTS+clip(PTS-PREV_INPTS,0,${LONGEST_GAP_SECONDS}/TB))'`,
  // Remaining gaps become silence, so that word times are times of the file.
  "aresample=async=1",
  // From here on, time counts samples, so the length limit holds regardless of the file's clock.
  "asetpts=N/SR/TB",
].join(",");

/** Runs ffmpeg as a child process, which reads one file, writes one, and may open no others. */
export class FfmpegDecoder implements ContainerDecoder {
  readonly #program: string;
  readonly #children: LimitedChildren;

  /** @param program absolute path of ffmpeg */
  constructor(program: string, children: LimitedChildren) {
    this.#program = program;
    this.#children = children;
  }

  async decode(job: DecodeJob, signal: AbortSignal): Promise<void> {
    const end = await this.#children.run([this.#program, ...ffmpegArguments(job)], DECODE_LIMITS, signal);
    const failure = failureOf(end, job.container);
    if (failure !== null) throw failure;
  }
}

function ffmpegArguments({ container, sourcePath, targetPath, maxSeconds }: DecodeJob): string[] {
  const demuxer = DEMUXERS[container];
  return [
    ...["-nostdin", "-hide_banner", "-loglevel", "error", "-n"],
    ...["-protocol_whitelist", "file", "-format_whitelist", demuxer, "-codec_whitelist", CODECS.join(",")],
    ...["-probesize", "5000000", "-analyzeduration", "10000000", "-threads", "1"],
    ...["-f", demuxer, "-i", `file:${sourcePath}`],
    ...["-map", "0:a:0", "-map_metadata", "-1", "-map_chapters", "-1", "-filter_threads", "1"],
    ...["-af", FILTERS, "-t", String(maxSeconds + OVERTIME_SECONDS)],
    ...["-c:a", "pcm_s16le", "-bitexact", "-f", "wav", `file:${targetPath}`],
  ];
}
