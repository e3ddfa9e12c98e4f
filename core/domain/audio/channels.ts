/** Whether the channels of a recording become one (`mix`), or are transcribed separately (`split`). */
export type ChannelHandling = "mix" | "split";

/** Most channels that are transcribed separately. */
export const MOST_CHANNELS = 8;

/** Splits interleaved samples of `count` channels, a whole number of blocks. */
export function splitChannels(interleaved: Int16Array, count: number): Int16Array[] {
  const length = interleaved.length / count;
  return Array.from({ length: count }, (_, channel) => {
    const own = new Int16Array(length);
    for (let i = 0; i < length; i++) own[i] = interleaved[i * count + channel]!;
    return own;
  });
}
