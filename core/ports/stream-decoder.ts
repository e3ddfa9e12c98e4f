import type { ServiceError } from "../domain/errors.js";

/** Forms of compressed live audio: two containers, and bare Opus packets, one per message. */
export type StreamedForm = "webm" | "ogg" | "opus";

export interface DecodedSink {
  /** Receives 16-bit little-endian mono samples at the rate of live sessions; borrowed for the call. */
  pcm(bytes: Uint8Array): void;
  /** Called at most once; nothing follows. */
  failed(error: ServiceError): void;
}

/** Decodes the audio of one live client, outside of this process. */
export interface StreamDecoder {
  /** @param bytes in any chunking, except for `opus`; copied before return */
  push(bytes: Uint8Array): void;
  /** Calls `then` when everything pushed before has been decoded. */
  mark(then: () => void): void;
  /** Ends the decoder; its sink receives nothing more. May be called twice. */
  close(): void;
}

export interface StreamDecoders {
  /** @throws {ServiceError} `ENGINE_BUSY`, `TOO_MANY_REQUESTS` when too many decoders run */
  open(organizationId: string, form: StreamedForm, sink: DecodedSink): StreamDecoder;
}
