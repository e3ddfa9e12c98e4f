import assert from "node:assert/strict";
import type { FilePool } from "../../../actors/transcription/file-queue.js";
import { FileRun } from "../../../actors/transcription/file-run.js";
import { PieceFinder } from "../../../actors/transcription/piece-finder.js";
import { SpeakerRun } from "../../../actors/transcription/speaker-run.js";
import type { WavHeader } from "../../../core/domain/audio/wav.js";
import type { SpeakerTurn } from "../../../core/domain/diarization/speaker-turns.js";
import { windowCount } from "../../../core/domain/diarization/windows.js";
import type { AudioSource, FilePiece, FileTask, WavSource } from "../../../native/threads/protocol.js";

const FRAME_SAMPLES = 640;
const HEADER: WavHeader = {
  ...({ format: "pcm" } as const),
  ...{ channels: 1, sampleRateHz: 16_000, bitsPerSample: 16, blockBytes: 2 },
  ...{ dataOffset: 44, dataBytes: null },
};

const WINDOWS = {
  ...{ sampleRateHz: 16_000, windowSamples: 160_000, shiftSamples: 16_000 },
  ...{ frameSamples: 270, receptiveSamples: 991 },
};

/** A file described by the alternating lengths of silence and speech, in frames. */
interface FakeFile {
  readonly source: WavSource;
  readonly speech: Float32Array;
}

export function fileOf(name: string, lengths: readonly number[]): FakeFile {
  const speech = Float32Array.from(
    lengths.flatMap((length, nth) => new Array<number>(length).fill(nth % 2 === 0 ? 0.1 : 0.9)),
  );
  return { source: { path: name, header: HEADER, sampleCount: speech.length * FRAME_SAMPLES }, speech };
}

/** Returns the path of a file; all files in this test are on disk. */
export function pathOf(source: AudioSource): string {
  return (source as WavSource).path;
}

/** Workers whose tasks end when the test decides; a piece decodes to its position, a window to its number. */
export function fakePool(
  files: readonly FakeFile[],
  workerCount: number,
  others: Pick<FilePool, "gaveUp" | "speakerWorkerCount"> = {},
) {
  const running: { readonly task: FileTask; settle(isLost?: boolean): void }[] = [];
  const answerOf = (task: FileTask) => {
    if (task.type === "hear") {
      const { speech } = files.find(({ source }) => source.path === pathOf(task.source))!;
      const room = task.room ?? new SharedArrayBuffer(4 * (task.endFrame - task.startFrame));
      const heard = new Float32Array(task.endFrame - task.startFrame);
      heard.set(speech.subarray(task.startFrame, task.endFrame));
      // The encoder's output for a frame is the number of the frame.
      new Float32Array(room).set(heard.map((_, i) => task.startFrame + i));
      return { speech: heard, encoded: room, encodedSize: 1, state: task.state };
    }
    if (task.type === "hear-speakers")
      return Array.from({ length: task.endWindow - task.firstWindow }, (_, at) => {
        return { frames: new Uint8Array(), embeddings: [Float32Array.of(task.firstWindow + at)] };
      });
    if (task.type === "group-speakers")
      return task.windows.map(({ embeddings }) => turnOf(embeddings[0]![0]!));
    return (task as Extract<FileTask, { type: "decode" }>).pieces.map((piece) => {
      for (let frame = piece.startFrame; frame < piece.endFrame; frame++)
        assert.equal(rowOf(piece, frame), frame);
      const text = `${piece.startFrame} ${piece.endFrame}`;
      return { ok: true, value: { text, words: [] } };
    });
  };
  const run: FilePool["run"] = (task) =>
    new Promise((resolve, reject) => {
      const settle = (isLost = false) => {
        running.splice(running.indexOf(entry), 1);
        if (isLost) reject(new Error("worker ran out of heap"));
        else if (isInterrupted(task)) resolve({ ok: false, code: "CANCELLED", message: "interrupted" });
        else resolve({ ok: true, value: answerOf(task) });
      };
      const entry = { task, settle };
      running.push(entry);
    });
  return { running, pool: { workerCount, run, close: async () => {}, ...others } };
}

/**
 * Returns whether a task was interrupted. Workers check the cell of a task's file; here they do so at the
 * end.
 */
export function isInterrupted(task: FileTask): boolean {
  const cells = task.type === "decode" ? task.pieces.map(({ cell }) => cell) : [task.cell];
  return task.type !== "warm-up" && cells.some((cell) => new Int32Array(cell)[0] !== 0);
}

/** Returns the expected row for a frame of a piece. */
function rowOf({ parts }: FilePiece, frame: number): number | undefined {
  const part = parts.find(({ startFrame, endFrame }) => startFrame <= frame && frame < endFrame);
  return part === undefined ? undefined : new Float32Array(part.encoded)[frame - part.startFrame];
}

export function runOf(
  { source }: FakeFile,
  forgets: boolean,
  onProgress: (share: number) => void = () => {},
  isLater = false,
): FileRun {
  return new FileRun({
    ...{ source, hotWords: [], sampleRateHz: 16_000, frameSamples: FRAME_SAMPLES },
    ...{ forgets, onProgress, isLater },
  });
}

function turnOf(window: number): SpeakerTurn {
  return { start: window, end: window + 1, speaker: 0 };
}

export function speakersOf({ source }: FakeFile, isLater = false): SpeakerRun {
  return new SpeakerRun({ source, shape: WINDOWS, speakerCount: null, isLater, onProgress: () => {} });
}

/** Every window once, in order. */
export function expectedTurns({ source: { sampleCount } }: FakeFile): readonly SpeakerTurn[] {
  return Array.from({ length: windowCount(sampleCount, WINDOWS) }, (_, window) => turnOf(window));
}

/** Results of a single worker that transcribes the file from its first to its last frame. */
export function expectedTexts({ source, speech }: FakeFile): string[] {
  const finder = new PieceFinder({ frameSamples: FRAME_SAMPLES, sampleCount: source.sampleCount });
  const pieces = [...finder.push(speech), ...finder.push(new Float32Array(12)), ...finder.finish()];
  return pieces.map(({ startFrame, endFrame }) => `${startFrame} ${endFrame}`);
}

/** Names the files of a task; a task that groups speakers has none. */
export function filesOf(task: FileTask): readonly string[] {
  if (task.type === "hear" || task.type === "hear-speakers") return [pathOf(task.source)];
  return task.type === "decode" ? task.pieces.map(({ source }) => pathOf(source)) : [];
}
