import { constants, createReadStream } from "node:fs";
import { access, stat } from "node:fs/promises";
import { WebSocket } from "ws";
import type { AudioSource } from "./audio-source.js";
import { type ClientOptions, ServiceClient, type Transcribed, type TranscribeOptions } from "./client.js";
import { DauysError } from "./errors.js";
import { sendByHttp } from "./node-transport.js";

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
   * @throws {DauysError} `no_file` when there is none at the path, or it cannot be read
   */
  override async transcribe(source: NodeAudioSource, options: TranscribeOptions = {}): Promise<Transcribed> {
    if (!isPath(source)) return super.transcribe(source, options);
    const { path } = source;
    const { isFile, sizeBytes } = await look(path);
    if (!isFile) {
      // A pipe or a device is read once, to its end.
      const once = () => createReadStream(path) as AsyncIterable<Buffer>;
      const body = { type: "chunks", sizeBytes: null, isRepeatable: false, open: once } as const;
      return this.transcribeOpen({ body, fileName: path }, options);
    }
    // Read no further than the length that was announced, should the file grow meanwhile.
    const open = () =>
      sizeBytes === 0 ? nothing() : (createReadStream(path, { end: sizeBytes - 1 }) as AsyncIterable<Buffer>);
    return this.transcribeOpen(
      { body: { type: "chunks", sizeBytes, isRepeatable: true, open }, fileName: path },
      options,
    );
  }
}

/** Whether the path can be read at all, and as what. @throws {DauysError} `no_file` */
async function look(path: string): Promise<{ readonly isFile: boolean; readonly sizeBytes: number }> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new DauysError("no_file", `Cannot read ${path}: it is a folder`);
    await access(path, constants.R_OK);
    return { isFile: found.isFile(), sizeBytes: found.size };
  } catch (error) {
    if (error instanceof DauysError) throw error;
    throw new DauysError("no_file", `Cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return "there is no such file";
  return code === "EACCES" || code === "EPERM" ? "permission denied" : message;
}

function isPath(source: NodeAudioSource): source is { readonly path: string } {
  return Object.getPrototypeOf(source) === Object.prototype && "path" in source;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
