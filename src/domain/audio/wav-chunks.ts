const FORM_BYTES = 12;
const HEAD_BYTES = 8;

/**
 * The file with one more chunk at its end, behind the samples, where no reader looks who takes the first 44 bytes for the
 * header.
 * @param wav as `writeWav` makes it
 * @param id four ASCII characters
 */
export function withChunk(wav: Uint8Array, id: string, body: Uint8Array): Uint8Array {
  // Chunks are padded to an even length.
  const file = new Uint8Array(wav.length + HEAD_BYTES + body.length + (body.length & 1));
  file.set(wav);
  file.set(new TextEncoder().encode(id), wav.length);
  const view = new DataView(file.buffer);
  view.setUint32(wav.length + 4, body.length, true);
  file.set(body, wav.length + HEAD_BYTES);
  view.setUint32(4, file.length - HEAD_BYTES, true);
  return file;
}

/**
 * The file as it was before `withChunk`, and the chunk's body; null where the file does not end with such a chunk. What
 * lies beyond the end of the file is no chunk.
 */
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
