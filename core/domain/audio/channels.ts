/** Whether the channels of a recording become one (`mix`), or are transcribed separately (`split`). */
export type ChannelHandling = "mix" | "split";

/** Most channels that are transcribed separately. */
export const MOST_CHANNELS = 8;
