import type { Place } from "../../core/domain/placement/provider.js";
import { paddedPatches } from "../../core/domain/synthesis/solver-schedule.js";
import { DeviceCells } from "../models/device-cells.js";
import { readPackage } from "../models/find-packages.js";
import { FlowMatching } from "../models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../models/flow-matching/manifest.js";
import type { SolverPiece } from "../models/flow-matching/solver-piece.js";
import type { MelSynthesizerManifest } from "../models/manifest.js";

/** Measurement of concurrent pieces, from text to samples. */
export interface SpeechFigures {
  readonly streams: number;
  readonly audioSecondsPerSecond: number;
  /** Share of wall time inside the runtime; the rest is our own code. */
  readonly runtimeShare: number;
}

const TEXT = "бүгін ауа райы жылы болады, кешке қарай жаңбыр жауады.";
const SOLVER_STEPS = 16;

/**
 * Synthesizes concurrent pieces twice, each step and window in one run, and measures the second synthesis.
 */
export async function timeSpeech(
  folder: string,
  place: Place,
  streams: readonly number[],
): Promise<readonly SpeechFigures[]> {
  const model = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(folder, "synthesis");
  const placement = { ...place, thread: 1, cells: DeviceCells.create() };
  const speaker = await FlowMatching.load(model, { intraOpThreads: 1, placement });
  try {
    const figures: SpeechFigures[] = [];
    for (const count of streams) {
      // A device compiles each shape during its first run.
      await speakTogether(speaker, count);
      const [startedAtMs, busyMs] = [performance.now(), speaker.busyMs];
      const seconds = await speakTogether(speaker, count);
      const tookMs = performance.now() - startedAtMs;
      figures.push({
        streams: count,
        audioSecondsPerSecond: (1_000 * seconds) / tookMs,
        runtimeShare: (speaker.busyMs - busyMs) / tookMs,
      });
    }
    return figures;
  } finally {
    await speaker.release();
  }
}

async function speakTogether(speaker: FlowMatching, count: number): Promise<number> {
  const { id, defaultVoice, hopSamples, sampleRateHz } = speaker.manifest;
  const pieces: SolverPiece[] = [];
  for (let seed = 0; seed < count; seed++) {
    const wish = { voice: defaultVoice, spokenText: TEXT, speed: 1, nfe: SOLVER_STEPS, seed };
    pieces.push(await speaker.begin({ modelId: id, ...wish }));
  }
  for (;;) {
    const unsolved = pieces.filter((piece) => speaker.isUnsolved(piece));
    if (unsolved.length === 0) break;
    await speaker.step(unsolved, paddedPatches(Math.max(...unsolved.map(({ solving }) => solving.patches))));
  }
  const starts = new Map(pieces.map((piece) => [piece, speaker.trimOf(piece).start]));
  for (;;) {
    const windows = pieces.flatMap((piece) => {
      const window = speaker.windowOf(piece, starts.get(piece)!);
      return window === null ? [] : [{ piece, window }];
    });
    const [first] = windows;
    if (first === undefined) break;
    const lengthOf = ({ window }: typeof first) => window.contextEnd - window.contextStart;
    const together = windows.filter((each) => lengthOf(each) === lengthOf(first));
    await speaker.vocode(together);
    for (const { piece, window } of together) starts.set(piece, window.end);
  }
  return pieces.reduce((sum, { frames }) => sum + (frames * hopSamples) / sampleRateHz, 0);
}
