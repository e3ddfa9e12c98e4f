import { type FileHandle, open } from "node:fs/promises";
import { toFloat } from "../../src/domain/audio/pcm.js";
import { HotWords } from "../../src/domain/decoding/hot-words.js";
import { ServiceError } from "../../src/domain/errors.js";
import type { Recognizer } from "../recognition/load-recognizer.js";
import type { DecodedPiece, FilePiece, FileTask } from "../threads/protocol.js";
import { obeyCell } from "./task-cell.js";

/** Decodes some pieces of a spooled file: the search of each runs beside the graphs of the next. Cancelled between two pieces. */
export async function decodePieces(
  task: Extract<FileTask, { type: "decode" }>,
  recognizer: Recognizer,
): Promise<DecodedPiece[]> {
  const cell = new Int32Array(task.cell);
  const { sampleRateHz } = recognizer.model.manifest;
  const hotWords = HotWords.compile(task.hotWords, recognizer.model.vocabulary);
  const file = await open(task.pcmPath, "r");
  try {
    const decoded: DecodedPiece[] = [];
    let searching: Promise<DecodedPiece> | null = null;
    for (const piece of task.pieces) {
      obeyCell(cell);
      const pcm = await readPiece(file, piece);
      const begun = await recognizer.utterances.begin(pcm, {
        offsetSeconds: piece.startSample / sampleRateHz,
        speechMean: piece.speechMean,
        hotWords,
      });
      if (searching !== null) decoded.push(await searching);
      searching = begun.decoded;
    }
    if (searching !== null) decoded.push(await searching);
    return decoded;
  } finally {
    await file.close();
  }
}

async function readPiece(file: FileHandle, piece: FilePiece): Promise<Float32Array> {
  const samples = new Int16Array(piece.endSample - piece.startSample);
  const bytes = new Uint8Array(samples.buffer);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, piece.startSample * 2);
  if (bytesRead < bytes.length) {
    throw new ServiceError("INTERNAL", `Cannot read the spooled PCM: ${bytesRead} of ${bytes.length} bytes`);
  }
  return toFloat(samples);
}
