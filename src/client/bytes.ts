/**
 * Yields the chunks of a stream, since some browsers cannot iterate over one. Leaving the loop cancels it.
 */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // If the stream failed, this rejects too; the loop has already thrown its error.
    reader.cancel().catch(() => {});
  }
}

/** Reads chunks to the end, or until they exceed `limitBytes`. */
export async function collect(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length > limitBytes) break;
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Copies bytes, so that the caller cannot change them and they are not in shared memory. */
export function copyBytes(bytes: Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes));
}
