import { z } from "zod";
import { type ChannelHandling, MOST_CHANNELS, type RawAudio } from "../domain/audio/channels.js";
import type { StreamedFormat } from "../domain/audio/streamed-pcm.js";
import { ServiceError } from "../domain/errors.js";
import { oneOf, queryInteger, shown } from "./fields.js";

const HANDLINGS = ["mix", "split"] as const satisfies readonly ChannelHandling[];

/** How the channels of a file are handled. */
export const CHANNELS = oneOf("channels", HANDLINGS, { otherwise: "mix", code: "INVALID_REQUEST" }).meta({
  description:
    `\`split\`: each channel is transcribed separately and charged, up to ${MOST_CHANNELS}; words and segments ` +
    "name their `channel`. `mix`: all are mixed into one. An extension",
});

const RAW_FORMATS = ["linear16", "mulaw", "alaw"] as const satisfies readonly StreamedFormat[];
const RAW_RATE_HZ = { min: 8_000, max: 48_000 };
const TELEPHONE_RATE_HZ = 8_000;
const OTHER_RATE_HZ = 16_000;

/** Parameters of audio without a header. */
export const RAW_FIELDS = {
  encoding: z.string().optional().meta({
    enum: RAW_FORMATS,
    description: "Format of samples without a header; files are still detected by their bytes. An extension",
  }),
  sample_rate: queryInteger("sample_rate", { ...RAW_RATE_HZ, otherwise: OTHER_RATE_HZ }).meta({
    description: "Sample rate of samples without a header; 8000 by default for mulaw and alaw. An extension",
  }),
  channel_count: queryInteger("channel_count", { min: 1, max: MOST_CHANNELS, otherwise: 1 }).meta({
    description: "Interleaved channels of samples without a header. An extension",
  }),
};

/**
 * Returns the format of samples without a header; null if the client specified none. @throws {ServiceError}
 */
export function rawAudioOf(
  query: URLSearchParams,
  fields: z.output<z.ZodObject<typeof RAW_FIELDS>>,
): RawAudio | null {
  const { encoding = "", sample_rate, channel_count } = fields;
  if (encoding === "") {
    const alone = ["sample_rate", "channel_count"].find((name) => query.has(name));
    if (alone === undefined) return null;
    const message = `${alone} needs encoding: it describes samples without a header`;
    throw new ServiceError("INVALID_REQUEST", message, { param: alone });
  }
  const format = RAW_FORMATS.find((candidate) => candidate === encoding);
  if (format === undefined) {
    const message = `encoding must be one of ${RAW_FORMATS.join(", ")}, received ${shown(encoding)}`;
    throw new ServiceError("INVALID_REQUEST", message, { param: "encoding" });
  }
  const isTelephone = format !== "linear16" && !query.has("sample_rate");
  return { format, sampleRateHz: isTelephone ? TELEPHONE_RATE_HZ : sample_rate, channels: channel_count };
}
