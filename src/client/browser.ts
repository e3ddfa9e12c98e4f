import { type ClientOptions, ServiceClient } from "./client.js";
import { sendByFetch } from "./fetch-transport.js";
import type { SocketLike } from "./transport.js";

export type { AudioSource } from "./audio-source.js";
export type {
  BilledOptions,
  ClientOptions,
  SpeakOptions,
  SpeakStreamOptions,
  Transcribed,
  TranscribeOptions,
  UsageOptions,
} from "./client.js";
export * from "./errors.js";
export type { HotWord } from "./hot-words.js";
export type { LiveDone, LiveOptions, LiveStatus } from "./live-options.js";
export type { LiveTranscription } from "./live-transcription.js";
export type { CallOptions } from "./requester.js";
export { toSrt, toVtt } from "./subtitles.js";
export type { UploadProgress } from "./transport.js";
export type * from "./types.js";

/** The service, for browsers and other places with `fetch` and `WebSocket`. */
export class DauysClient extends ServiceClient {
  /** @throws {TypeError} when an address is not one of http or https */
  constructor(options: ClientOptions) {
    super(options, {
      transport: sendByFetch,
      openSocket: (url, protocols) => new (socketClass())(url, protocols),
      // What a page sends with a socket ends up in logs along the way: a token of 60 s rather than a key.
      socketTakesKey: false,
    });
  }
}

function socketClass(): new (url: URL, protocols: string[]) => SocketLike {
  const { WebSocket } = globalThis as unknown as {
    readonly WebSocket: new (url: URL, protocols: string[]) => SocketLike;
  };
  return WebSocket;
}
