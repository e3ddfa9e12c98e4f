/** Audio that a client names by its address. */
export interface UrlSource {
  /**
   * The bytes behind `url`, fetched while they are read; nothing happens before the first read, and a caller that stops reading
   * ends the connection.
   * @throws {ServiceError} while read: `URL_FETCH_FAILED`, `BODY_TOO_LARGE`, `CANCELLED`
   */
  fetch(url: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
