import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { WebSocket } from "ws";
import type { AudioSource } from "./audio-source.js";
import { type ClientOptions, ServiceClient, type Transcribed, type TranscribeOptions } from "./client.js";
import { DauysError } from "./errors.js";
import { sendByHttp } from "./node-transport.js";

export type { AudioSource } from "./audio-source.js";
export type { ClientOptions, SpeakOptions, Transcribed, TranscribeOptions } from "./client.js";
export * from "./errors.js";
export type { LiveDone, LiveOptions, LiveStatus } from "./live-options.js";
export type { LiveTranscription } from "./live-transcription.js";
export type { CallOptions } from "./requester.js";
export type { UploadProgress } from "./transport.js";
export type * from "./types.js";

/** In Node also a file by its path. */
export type NodeAudioSource = AudioSource | { readonly path: string };

/** The service, for Node. */
export class DauysClient extends ServiceClient {
  /** @throws {TypeError} when an address is not one of http or https */
  constructor(options: ClientOptions) {
    super(options, {
      transport: sendByHttp,
      openSocket: (url, protocols) => new WebSocket(url, protocols, { perMessageDeflate: false }),
      socketTakesKey: true,
    });
  }

  /**
   * Writes a recording of at most 2 hours down; a file is read as it is sent. Costs 2.5 credits per second of audio.
   *
   * @throws {DauysError} `no_file` when there is none at the path
   */
  override async transcribe(source: NodeAudioSource, options: TranscribeOptions = {}): Promise<Transcribed> {
    if (!isPath(source)) return super.transcribe(source, options);
    const { path } = source;
    const found = await stat(path).catch(() => null);
    if (found === null || !found.isFile()) {
      throw new DauysError("no_file", `Cannot read ${path}: there is no such file`);
    }
    const sizeBytes = found.size;
    // Read no further than the length that was announced, should the file grow meanwhile.
    const open = () =>
      sizeBytes === 0 ? nothing() : (createReadStream(path, { end: sizeBytes - 1 }) as AsyncIterable<Buffer>);
    return this.transcribeOpen(
      { body: { type: "chunks", sizeBytes, isRepeatable: true, open }, fileName: path },
      options,
    );
  }
}

function isPath(source: NodeAudioSource): source is { readonly path: string } {
  return Object.getPrototypeOf(source) === Object.prototype && "path" in source;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
