/** Thrown for a stream that cannot be decoded. The message is meant for the client. */
export class NoOpus extends Error {
  override readonly name = "NoOpus";
  /** True if the stream has a different format; false if it is damaged. */
  readonly isOtherFormat: boolean;

  constructor(message: string, { isOtherFormat = true }: { readonly isOtherFormat?: boolean } = {}) {
    super(message);
    this.isOtherFormat = isOtherFormat;
  }
}

export type OpusPart =
  /** The identification header for the packets that follow. */
  | { readonly type: "head"; readonly head: Uint8Array }
  /** The last `dropped` samples of the packet, at 48 kHz, do not belong to the stream. */
  | { readonly type: "packet"; readonly packet: Uint8Array; readonly dropped: number };

/** Finds the Opus packets in a stream as its bytes arrive. */
export interface Demuxer {
  /** @throws {NoOpus} if the stream is not Opus, or is damaged */
  push(bytes: Uint8Array): Iterable<OpusPart>;
}
