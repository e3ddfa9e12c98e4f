/** The chunks of a stream, in engines too whose streams cannot be iterated. Leaving the loop cancels the stream. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // A stream that has ended or failed takes this as no news.
    reader.cancel().catch(() => {});
  }
}

/** Everything, up to `limitBytes`. */
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
  return concatenate(parts, length);
}

function concatenate(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** The same bytes where nobody else can change them, and not in shared memory. */
export function copied(bytes: Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes));
}
