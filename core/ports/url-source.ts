/** Fetches audio from a client's URL. */
export interface UrlSource {
  /**
   * Returns the bytes of `url`, fetched while they are read: it connects with the first read, and disconnects
   * when the caller stops reading.
   * @throws {ServiceError} while read: `URL_FETCH_FAILED`, `BODY_TOO_LARGE`, `CANCELLED`
   */
  fetch(url: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
