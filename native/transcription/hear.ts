import { levelDb } from "../../core/domain/audio/level.js";
import { USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import type { RecognizerModel, StepBatch } from "../models/recognizer.js";
import { copyState, type EncoderState } from "../models/state-rows.js";
import type { FileTask, HeardPart } from "../threads/protocol.js";
import { openAudio } from "./file-audio.js";
import { obeyCell } from "./task-cell.js";

/**
 * Runs the encoder over a part of a file. A part without a state starts with the model's context before it.
 * @param mostFrames maximum frames per run of the encoder; does not change the result
 * @throws {ServiceError} `CANCELLED`
 */
export async function hearPart(
  task: Extract<FileTask, { type: "hear" }>,
  model: RecognizerModel,
  mostFrames: number = USUAL_ROWS.hearFrames,
): Promise<HeardPart> {
  const cell = new Int32Array(task.cell);
  const { frameSamples, contextFrames, sampleRateHz } = model.manifest;
  const { encodedSize } = model;
  const { startFrame, endFrame } = task;
  const speech = new Float32Array(endFrame - startFrame);
  const levels = new Float32Array(speech.length);
  const buffer = roomFor(task.room, speech.length * encodedSize);
  const encoded = new Float32Array(buffer);
  const audio = await openAudio(task.source, sampleRateHz);
  try {
    let batch: StepBatch | null = null;
    let state = task.state;
    let frame = state === null ? Math.max(0, startFrame - contextFrames) : startFrame;
    while (frame < endFrame) {
      obeyCell(cell);
      const frames = Math.min(mostFrames, endFrame - frame);
      if (batch?.frames !== frames) batch = model.speechBatch(1, frames);
      if (state !== null) copyState(state, batch.state);
      batch.pcm.set(await audio.read({ start: frame * frameSamples, end: (frame + frames) * frameSamples }));
      await batch.run();
      state = batch.nextState;
      const skipped = Math.max(0, startFrame - frame);
      if (skipped < frames) {
        const at = frame + skipped - startFrame;
        speech.set(batch.speech.subarray(skipped), at);
        for (let index = skipped; index < frames; index++) {
          levels[at + index - skipped] = levelDb(batch.pcm, index * frameSamples, (index + 1) * frameSamples);
        }
        encoded.set(batch.encoded.subarray(skipped * encodedSize), at * encodedSize);
      }
      frame += frames;
    }
    return { speech, levels, encoded: buffer, encodedSize, state: state === null ? null : copyOf(state) };
  } finally {
    await audio.close();
  }
}

/** Reuses the memory of an earlier part if it is large enough. */
function roomFor(room: SharedArrayBuffer | null, floats: number): SharedArrayBuffer {
  const bytes = floats * Float32Array.BYTES_PER_ELEMENT;
  return room !== null && room.byteLength >= bytes ? room : new SharedArrayBuffer(bytes);
}

function copyOf({ values, bytes }: EncoderState): EncoderState {
  return { values: values.slice(), bytes: bytes.slice() };
}
