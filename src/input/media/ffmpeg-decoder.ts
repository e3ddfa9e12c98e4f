import type { Container } from "../../../core/domain/audio/container.js";
import {
  type ContainerDecoder,
  DECODE_LIMITS,
  type DecodeJob,
  OVERTIME_SECONDS,
  refusalOf,
} from "./container-decoder.js";
import type { LimitedChildren } from "./limited-child.js";

/** The only demuxers that may run; each is named to ffmpeg, which then guesses nothing. */
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

/** The only decoders that may run, not even to look at a stream: none for video, pictures or subtitles. */
const CODECS = [
  ...["aac", "ac3", "alac", "amrnb", "amrwb", "flac", "libopus", "opus", "libspeex", "speex", "vorbis"],
  ...["mp1", "mp1float", "mp2", "mp2float", "mp3", "mp3float", "gsm", "gsm_ms", "g722"],
  ...["adpcm_ima_qt", "adpcm_ima_wav", "adpcm_ms", "adpcm_yamaha"],
  ...["pcm_alaw", "pcm_mulaw", "pcm_u8", "pcm_s8", "pcm_f32be", "pcm_f32le", "pcm_f64be", "pcm_f64le"],
  ...["pcm_s16be", "pcm_s16le", "pcm_s24be", "pcm_s24le", "pcm_s32be", "pcm_s32le"],
];

/** A longer gap between two frames is a damaged clock, and would be charged as audio. */
const LONGEST_GAP_SECONDS = 60;

const FILTERS = [
  "aformat=channel_layouts=mono:sample_fmts=s16",
  `asetpts='if(isnan(PREV_OUTPTS),PTS,PREV_OUTPTS+clip(PTS-PREV_INPTS,0,${LONGEST_GAP_SECONDS}/TB))'`,
  // Gaps that are left become silence, so that times of words are times of the file.
  "aresample=async=1",
  // From here on time is a count of samples, which the limit of length then cuts, whatever the file's clock claims.
  "asetpts=N/SR/TB",
].join(",");

/** ffmpeg as a child: it reads one file, writes one file, and may open nothing else. */
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
    const refusal = refusalOf(end, job.container);
    if (refusal !== null) throw refusal;
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
