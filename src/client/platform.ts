import type { AudioBody, AudioSource } from "./audio-source.js";
import type { SocketLike, Transport } from "./transport.js";

/** Functions of a browser or of Node that the client uses. */
export interface Platform {
  readonly transport: Transport;
  openSocket(url: URL, protocols: string[]): SocketLike;
  /** Whether the key may open a live socket; otherwise a single-use token is requested first. */
  readonly socketTakesKey: boolean;
  /** Opens recordings of the platform, besides those that every platform has. */
  readonly audioBodyOf?: (source: Exclude<AudioSource, { readonly url: string }>) => Promise<AudioBody>;
}
