import type { RawAudio } from "../../core/domain/audio/channels.js";
import { detectStreamedFile } from "../../core/domain/audio/container.js";
import { streamedWavHead } from "../../core/domain/audio/wav.js";
import type { Upload } from "./transcribed-upload.js";

/** Puts a WAV header before raw samples. A file stays unchanged, whatever encoding was declared. */
export async function* withHeader(
  bytes: AsyncIterable<Uint8Array>,
  { format, sampleRateHz, channels }: RawAudio,
): AsyncGenerator<Uint8Array, void, undefined> {
  let head: Uint8Array | null = new Uint8Array(0);
  const begin = (first: Uint8Array, container: ReturnType<typeof detectStreamedFile>) => {
    const isSamples = container === null || container === "open";
    return isSamples ? [streamedWavHead(format, sampleRateHz, channels), first] : [first];
  };
  for await (const chunk of bytes) {
    if (head === null) {
      yield chunk;
      continue;
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const container = detectStreamedFile(head);
    if (container === "open") continue;
    yield* begin(head, container);
    head = null;
  }
  if (head !== null && head.length > 0) yield* begin(head, null);
}

/** Adds a header to samples, if the client described their format. */
export function withSamples(upload: Upload, raw: RawAudio | null): Upload {
  if (raw === null) return upload;
  const { url, fileName, maxBytes } = upload;
  return {
    bytes: withHeader(upload.bytes, raw),
    fileName,
    ...(url !== undefined && { url }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
}
