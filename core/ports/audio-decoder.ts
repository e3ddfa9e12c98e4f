import type { ChannelHandling } from "../domain/audio/channels.js";

/** Decodes audio of any common container for the transcriber. */
export interface AudioDecoder {
  /**
   * Decodes untrusted bytes outside this process, within limits; aborting `signal` stops it.
   *
   * @param sourcePath the submitted file; its name does not matter
   * @param targetPath a file that does not exist yet; the caller always deletes it
   * @param channels whether the decoder keeps channels apart; a WAV file keeps its own
   * @returns the path of a PCM WAV file: `sourcePath` if it is one, else `targetPath`
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_LONG`, `BODY_TOO_LARGE`, `CANCELLED`, `ENGINE_BUSY`
   */
  decode(
    sourcePath: string,
    targetPath: string,
    signal: AbortSignal,
    channels?: ChannelHandling,
  ): Promise<string>;
}
