import type { SampleSpan } from "../../core/domain/audio/resample.js";
import type { SpeakerTurn } from "../../core/domain/diarization/speaker-turns.js";
import type { SpeakerWindow, WindowShape } from "../../core/domain/diarization/windows.js";
import { ServiceError } from "../../core/domain/errors.js";
import type {
  AudioSource,
  DecodedPiece,
  FileAnswer,
  FilePiece,
  FileTask,
  HeardPart,
  PcmSource,
} from "../../native/threads/protocol.js";
import { decodedSpan, heardSpan } from "../../native/transcription/read-spans.js";
import { FILE_TASK_CELL } from "../../native/transcription/task-cell.js";
import { alignedBytes, MAX_PART_BYTES } from "../fleet/call-messages.js";
import {
  type DecodeCall,
  type FileCall,
  type FileOfCall,
  type GiveUpNote,
  type GroupSpeakersCall,
  HEARD,
  type HearCall,
  type HearDone,
  type HeardBytes,
  type HeardWindow,
  type HearSpeakersCall,
} from "../fleet/file-call.js";
import { unpackedWindows } from "../fleet/packed-windows.js";
import type { HostedCall } from "./call-host.js";

/** The model's frame sizes, which determine the samples that workers read. */
interface Frames {
  readonly frameSamples: number;
  readonly contextFrames: number;
}

interface Pool {
  run(task: FileTask): Promise<unknown>;
}

/** Requests in flight for one call. */
const PULLS_AHEAD = 2;

/** Turns in a part of an answer, about 190 KB. */
const TURNS_OF_PART = 5_000;

/**
 * Performs tasks of fronts' files on this node's workers. Their audio is pulled and not stored.
 * @param shape windows of the workers' model for diarization; null without one
 */
export function workingOnFiles(
  pool: Pool,
  frames: Frames,
  shape: WindowShape | null = null,
): (call: HostedCall) => Promise<unknown> {
  return async (call) => {
    const body = call.body as FileCall;
    switch (body.type) {
      case "hear":
        return hear(call, body, pool, frames);
      case "decode":
        return decode(call, body, pool, frames);
      case "hear-speakers":
        return hearSpeakers(call, body, pool, requireShape(shape));
      case "group-speakers":
        return groupSpeakers(call, body, pool);
    }
  };
}

async function hear(call: HostedCall, body: HearCall, pool: Pool, frames: Frames): Promise<HearDone> {
  const { startFrame, endFrame, stateBytes, file } = body;
  const cell = cancelledBy(call);
  let state: Extract<FileTask, { type: "hear" }>["state"] = null;
  if (stateBytes !== null) {
    const [values, bytes] = [await pulled(call, 1, stateBytes[0]), await pulled(call, 2, stateBytes[1])];
    state = { values: new Float32Array(alignedBytes(values)), bytes };
  }
  const source = await audioOf(call, 0, file, heardSpan({ startFrame, endFrame, state }, frames));
  const heard = await run<HeardPart>(pool, {
    ...{ type: "hear", source, startFrame, endFrame, state, room: null, cell },
  });
  const floats = (endFrame - startFrame) * heard.encodedSize;
  send(call, HEARD.speech, bytesOf(heard.speech));
  if (heard.levels !== null) send(call, HEARD.levels, bytesOf(heard.levels));
  send(call, HEARD.encoded, new Uint8Array(heard.encoded, 0, floats * Float32Array.BYTES_PER_ELEMENT));
  if (heard.state !== null) {
    send(call, HEARD.stateValues, bytesOf(heard.state.values));
    send(call, HEARD.stateBytes, heard.state.bytes);
  }
  return { encodedSize: heard.encodedSize, hasState: heard.state !== null };
}

async function decode(
  call: HostedCall,
  { files, pieces, encodedSize }: DecodeCall,
  pool: Pool,
  frames: Frames,
): Promise<readonly FileAnswer<DecodedPiece>[]> {
  const cells = files.map(() => cancelledBy(call));
  call.onNote = (note) => {
    const cell = cells[(note as GiveUpNote).giveUp];
    if (cell !== undefined) giveUp(cell);
  };
  const wanted: FilePiece[] = [];
  for (const [index, { file, ...numbers }] of pieces.entries()) {
    const { startFrame, endFrame } = numbers;
    const { hotWords, sampleCount } = files[file]!;
    const piece = { ...numbers, hotWords, cell: cells[file]! };
    const byteCount = (endFrame - startFrame) * encodedSize * Float32Array.BYTES_PER_ELEMENT;
    const encoded = await pulled(call, files.length + index, byteCount);
    const source = await audioOf(call, file, { sampleCount }, decodedSpan(numbers, frames));
    wanted.push({ ...piece, source, parts: [{ encoded: encoded.buffer, startFrame, endFrame }] });
  }
  return run(pool, { type: "decode", pieces: wanted });
}

async function hearSpeakers(
  call: HostedCall,
  { file, firstWindow, endWindow }: HearSpeakersCall,
  pool: Pool,
  { shiftSamples, windowSamples }: WindowShape,
): Promise<null> {
  const cell = cancelledBy(call);
  const span = { start: firstWindow * shiftSamples, end: (endWindow - 1) * shiftSamples + windowSamples };
  const source = await audioOf(call, 0, file, span);
  const windows = await run<readonly SpeakerWindow[]>(pool, {
    ...{ type: "hear-speakers", source, firstWindow, endWindow, cell },
  });
  for (const { frames, embeddings } of windows) {
    const bytes = embeddings.map((embedding) => (embedding === null ? null : bytesOf(embedding)));
    call.send({ frames, embeddings: bytes } satisfies HeardWindow);
  }
  return null;
}

async function groupSpeakers(
  call: HostedCall,
  { sampleCount, speakerCount, ...shape }: GroupSpeakersCall,
  pool: Pool,
): Promise<null> {
  const cell = cancelledBy(call);
  const { windowCount, frameCount, speakersOfWindow, embeddingSize } = shape;
  const floatCount = windowCount * speakersOfWindow * embeddingSize;
  const frames = await pulled(call, 0, windowCount * frameCount);
  const bytes = await pulled(call, 1, floatCount * Float32Array.BYTES_PER_ELEMENT);
  const windows = unpackedWindows({ shape, frames, embeddings: new Float32Array(bytes.buffer) });
  const turns = await run<readonly SpeakerTurn[]>(pool, {
    ...{ type: "group-speakers", windows, sampleCount, speakerCount, cell },
  });
  for (let at = 0; at < turns.length; at += TURNS_OF_PART) call.send(turns.slice(at, at + TURNS_OF_PART));
  return null;
}

/** A front calls only nodes whose heartbeats report a model. */
function requireShape(shape: WindowShape | null): WindowShape {
  if (shape !== null) return shape;
  throw new ServiceError("DIARIZATION_UNAVAILABLE", "this engine has no model for diarization");
}

/** @throws {ServiceError} the task's failure, or `WORKER_LOST` */
async function run<T>(pool: Pool, task: FileTask): Promise<T> {
  let answer: FileAnswer<T>;
  try {
    answer = (await pool.run(task)) as FileAnswer<T>;
  } catch (cause) {
    throw new ServiceError("WORKER_LOST", "a file worker ended", { cause });
  }
  if (!answer.ok) throw new ServiceError(answer.code, answer.message);
  return answer.value;
}

async function audioOf(
  call: HostedCall,
  item: number,
  { sampleCount }: FileOfCall,
  { start, end }: SampleSpan,
): Promise<AudioSource> {
  const sampleBytes = Int16Array.BYTES_PER_ELEMENT;
  const count = Math.max(0, Math.min(end, sampleCount) - start);
  const bytes = await pulled(call, item, count * sampleBytes, start * sampleBytes);
  return { samples: bytes.buffer, startSample: start, sampleCount } satisfies PcmSource;
}

/** Pulls bytes of an item into shared memory. */
async function pulled(
  call: HostedCall,
  item: number,
  byteCount: number,
  fromByte = 0,
): Promise<Uint8Array<SharedArrayBuffer>> {
  const bytes = new Uint8Array(new SharedArrayBuffer(byteCount));
  let asked = 0;
  const takeTurns = async () => {
    while (asked < byteCount) {
      const at = asked;
      const count = Math.min(MAX_PART_BYTES, byteCount - at);
      asked += count;
      bytes.set(await call.pull(item, fromByte + at, count), at);
    }
  };
  await Promise.all(Array.from({ length: PULLS_AHEAD }, takeTurns));
  return bytes;
}

function send({ send }: HostedCall, what: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += MAX_PART_BYTES) {
    const part = bytes.subarray(at, at + MAX_PART_BYTES);
    send({ what, at, byteCount: bytes.length, bytes: part } satisfies HeardBytes);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Creates a cell that tells workers when the front cancels the call; see `FILE_TASK_CELL`. */
function cancelledBy({ signal }: HostedCall): SharedArrayBuffer {
  const cell = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  if (signal.aborted) giveUp(cell);
  signal.addEventListener("abort", () => giveUp(cell), { once: true });
  return cell;
}

function giveUp(cell: SharedArrayBuffer): void {
  Atomics.store(new Int32Array(cell), 0, FILE_TASK_CELL.giveUp);
}
