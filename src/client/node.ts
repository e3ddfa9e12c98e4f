import { constants, createReadStream } from "node:fs";
import { access, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { WebSocket } from "ws";
import { type AudioBody, type AudioSource, audioBodyOf } from "./audio-source.js";
import { type ClientOptions, ServiceClient, type Transcribed, type TranscribeOptions } from "./client.js";
import { DauysError } from "./errors.js";
import type { Jobs } from "./jobs.js";
import { sendByHttp } from "./node-transport.js";

export * from "./exports.js";

/** A recording. In Node, it can also be a file path. */
export type NodeAudioSource = AudioSource | { readonly path: string };

/** Calls the service from Node. */
export class DauysClient extends ServiceClient {
  declare readonly jobs: Jobs<NodeAudioSource>;

  /** @throws {TypeError} if an address is not an http or https URL */
  constructor(options: ClientOptions) {
    super(options, {
      transport: sendByHttp,
      openSocket: (url, protocols) => new WebSocket(url, protocols, { perMessageDeflate: false }),
      socketTakesKey: true,
      audioBodyOf: nodeAudioBodyOf,
    });
  }

  /**
   * Transcribes a recording of at most 2 hours. Costs 2.5 credits per second of audio.
   *
   * @throws {DauysError} `no_file` if the file does not exist or cannot be read
   */
  override async transcribe(source: NodeAudioSource, options: TranscribeOptions = {}): Promise<Transcribed> {
    if (!isPath(source)) return super.transcribe(source, options);
    return this.transcribeBody(await nodeAudioBodyOf(source), options);
  }
}

/** @throws {DauysError} `no_file` if the file does not exist or cannot be read */
async function nodeAudioBodyOf(
  source: Exclude<NodeAudioSource, { readonly url: string }>,
): Promise<AudioBody> {
  if (!isPath(source)) return audioBodyOf(source);
  const { path } = source;
  // Pipes and devices have no size, and can be read only once.
  const sizeBytes = await sizeOf(path);
  const open = () => readFileChunks(path, sizeBytes);
  const body = { type: "chunks", sizeBytes, isRepeatable: sizeBytes !== null, open } as const;
  return { body, fileName: path };
}

/** Returns the size of a file; null for a pipe or a device. @throws {DauysError} `no_file` if unreadable */
async function sizeOf(path: string): Promise<number | null> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new DauysError("no_file", `cannot read ${path}: it is a folder`);
    await access(path, constants.R_OK);
    return found.isFile() ? found.size : null;
  } catch (error) {
    if (error instanceof DauysError) throw error;
    throw new DauysError("no_file", `cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/** @param sizeBytes announced length of the upload; bytes appended to the file later are not read */
function readFileChunks(path: string, sizeBytes: number | null): AsyncIterable<Uint8Array> {
  if (sizeBytes === 0) return Readable.from([]);
  return createReadStream(path, sizeBytes === null ? {} : { end: sizeBytes - 1 });
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return "no such file";
  return code === "EACCES" || code === "EPERM" ? "permission denied" : message;
}

function isPath(source: NodeAudioSource): source is { readonly path: string } {
  return Object.getPrototypeOf(source) === Object.prototype && "path" in source;
}
