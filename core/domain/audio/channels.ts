import type { StreamedFormat } from "./streamed-pcm.js";

/** Whether the channels of a recording become one (`mix`), or are transcribed separately (`split`). */
export type ChannelHandling = "mix" | "split";

/** Samples without a header. */
export interface RawAudio {
  readonly format: StreamedFormat;
  readonly sampleRateHz: number;
  readonly channels: number;
}

/** Maximum number of channels that are transcribed separately. */
export const MOST_CHANNELS = 8;
