import type { SpeakerWindow } from "../../core/domain/diarization/windows.js";

/** How the windows of a file are packed; all windows of a model have the same sizes. */
export interface PackedShape {
  readonly windowCount: number;
  /** Frames of a window. */
  readonly frameCount: number;
  /** Speakers of a window, each with an embedding or without. */
  readonly speakersOfWindow: number;
  readonly embeddingSize: number;
}

/** The windows of a file as two blocks of memory. */
export interface PackedWindows {
  readonly shape: PackedShape;
  readonly frames: Uint8Array;
  /** NaN in place of a missing embedding. */
  readonly embeddings: Float32Array;
}

/** @throws {RangeError} if the sizes of windows differ */
export function packedWindows(windows: readonly SpeakerWindow[]): PackedWindows {
  const shape: PackedShape = {
    windowCount: windows.length,
    frameCount: windows[0]?.frames.length ?? 0,
    speakersOfWindow: windows[0]?.embeddings.length ?? 0,
    embeddingSize: windows.flatMap(({ embeddings }) => embeddings).find((one) => one !== null)?.length ?? 0,
  };
  const { frameCount, speakersOfWindow, embeddingSize } = shape;
  const frames = new Uint8Array(windows.length * frameCount);
  const embeddings = new Float32Array(windows.length * speakersOfWindow * embeddingSize).fill(Number.NaN);
  for (const [at, window] of windows.entries()) {
    const isSame = window.frames.length === frameCount && window.embeddings.length === speakersOfWindow;
    if (!isSame || window.embeddings.some((one) => one !== null && one.length !== embeddingSize))
      throw new RangeError(
        `cannot pack the windows: the sizes of window ${at} differ from those of the first`,
      );
    frames.set(window.frames, at * frameCount);
    for (const [speaker, embedding] of window.embeddings.entries())
      if (embedding !== null) embeddings.set(embedding, (at * speakersOfWindow + speaker) * embeddingSize);
  }
  return { shape, frames, embeddings };
}

/** Reverses `packedWindows`; the windows are views of the given memory. */
export function unpackedWindows({ shape, frames, embeddings }: PackedWindows): readonly SpeakerWindow[] {
  const { windowCount, frameCount, speakersOfWindow, embeddingSize } = shape;
  return Array.from({ length: windowCount }, (_, at) => ({
    frames: frames.subarray(at * frameCount, (at + 1) * frameCount),
    embeddings: Array.from({ length: speakersOfWindow }, (_, speaker) => {
      const start = (at * speakersOfWindow + speaker) * embeddingSize;
      const embedding = embeddings.subarray(start, start + embeddingSize);
      return embedding.length === 0 || Number.isNaN(embedding[0]) ? null : embedding;
    }),
  }));
}
