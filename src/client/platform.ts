import type { AudioBody, AudioSource } from "./audio-source.js";
import type { SocketLike, Transport } from "./transport.js";

/** Functions of the browser or of Node that the client uses. */
export interface Platform {
  readonly transport: Transport;
  openSocket(url: URL, protocols: string[]): SocketLike;
  /** Whether a live socket may be opened with the key; if not, a single-use token is requested first. */
  readonly socketTakesKey: boolean;
  /** Opens sources that only this platform supports. */
  readonly audioBodyOf?: (source: Exclude<AudioSource, { readonly url: string }>) => Promise<AudioBody>;
}
