/** Makes audio of any common container readable for the transcriber. */
export interface AudioDecoder {
  /**
   * Untrusted bytes are decoded outside this process, within limits, and stop with `signal`.
   *
   * @param sourcePath a file as it was submitted; its name does not matter
   * @param targetPath a file that does not exist yet; the caller deletes it in every ending
   * @returns the path of a PCM WAV file: `sourcePath` when it is one already, else `targetPath`
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_LONG`, `BODY_TOO_LARGE`, `CANCELLED`, `ENGINE_BUSY`
   */
  decode(sourcePath: string, targetPath: string, signal: AbortSignal): Promise<string>;
}
