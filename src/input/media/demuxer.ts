/** Thrown for a stream that cannot be decoded; the message is for the client. */
export class NoOpus extends Error {
  override readonly name = "NoOpus";
  /** Whether its format is another one, rather than damaged. */
  readonly isOtherFormat: boolean;

  constructor(message: string, { isOtherFormat = true }: { readonly isOtherFormat?: boolean } = {}) {
    super(message);
    this.isOtherFormat = isOtherFormat;
  }
}

export type OpusPart =
  /** The identification header of the packets that follow. */
  | { readonly type: "head"; readonly head: Uint8Array }
  /** `dropped` samples at its end, at 48 kHz, do not belong to the stream. */
  | { readonly type: "packet"; readonly packet: Uint8Array; readonly dropped: number };

/** Finds the Opus packets in a stream as its bytes arrive. */
export interface Demuxer {
  /** @throws {NoOpus} */
  push(bytes: Uint8Array): Iterable<OpusPart>;
}
