const FORM_BYTES = 12;
const HEAD_BYTES = 8;

/**
 * Writes a chunk of a RIFF file, padded to an even length. It is placed after the samples, where it does not
 * disturb readers that expect a header of 44 bytes.
 * @param id four ASCII characters
 */
export function riffChunk(id: string, body: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(HEAD_BYTES + body.length + (body.length & 1));
  chunk.set(new TextEncoder().encode(id));
  new DataView(chunk.buffer).setUint32(4, body.length, true);
  chunk.set(body, HEAD_BYTES);
  return chunk;
}

/** Splits off the chunk `id` at the end of a RIFF file; null when the file does not end with it. */
export function withoutLastChunk(
  file: Uint8Array,
  id: string,
): { readonly wav: Uint8Array<ArrayBuffer>; readonly body: Uint8Array } | null {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let offset = FORM_BYTES;
  while (offset + HEAD_BYTES <= file.length) {
    const size = view.getUint32(offset + 4, true);
    const start = offset + HEAD_BYTES;
    const next = start + size + (size & 1);
    if (next === file.length && idAt(file, offset) === id) {
      const wav = file.slice(0, offset);
      new DataView(wav.buffer).setUint32(4, wav.length - HEAD_BYTES, true);
      return { wav, body: file.slice(start, start + size) };
    }
    offset = next;
  }
  return null;
}

function idAt(wav: Uint8Array, offset: number): string {
  return String.fromCharCode(...wav.subarray(offset, offset + 4));
}
