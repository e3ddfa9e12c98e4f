import type { PackageFolder } from "../models/package.js";
import type { Sizes } from "./feeds.js";
import type { GraphShapes, ShapeFigures } from "./trial.js";

/** An engine's work with one package: its graphs and their shapes. */
export interface EngineWork {
  readonly engine: "live" | "files" | "speech";
  readonly graphs: readonly GraphShapes[];
  /** Estimates throughput from measured runs; null if a graph is missing. */
  readonly worth: (figures: readonly ShapeFigures[]) => EngineWorth | null;
}

/** A device's throughput, by the time of graph runs only. */
export interface EngineWorth {
  /** Seconds of audio per second. */
  readonly audioSecondsPerSecond: number;
  /** For live: the number of sessions it can sustain. */
  readonly sessions: number | null;
  /** Duration of a live step, of ten seconds of a file, or of a piece of speech. */
  readonly ms: number;
}

/** Length of a recogniser's frame in samples. */
const FRAME_SAMPLES = 640;
const FRAME_SECONDS = 0.04;
const LIVE_ROWS = 32;
/** Ten seconds, the length of a file's piece. */
const FILE_FRAMES = 250;
/** Length of a frame of the vocoder and the condition, at 24 kHz. */
const MEL_FRAME_SAMPLES = 256;
const MEL_FRAME_SECONDS = MEL_FRAME_SAMPLES / 24_000;
const SOLVER_STEPS = 16;
/** A sentence of four seconds, with two frames per patch. */
const PIECE_PATCHES = 192;
const PIECE_TOKENS = 80;
/** Includes 10 frames of context on each side. */
const WINDOW_FRAMES = 256;
const WINDOW_CONTEXT_FRAMES = 20;

export function streamSizes(rows: number, frames: number): Sizes {
  return { batch: rows, frames, samples: frames * FRAME_SAMPLES };
}

export function fullSizes(rows: number, frames: number): Sizes {
  return { batch: rows, frames };
}

export function stepSizes(rows: number, patches: number): Sizes {
  return { batch: rows, patches };
}

export function vocoderSizes(rows: number, frames: number): Sizes {
  return { batch: rows, frames, samples: frames * MEL_FRAME_SAMPLES };
}

export function encoderSizes(tokens: number): Sizes {
  return { batch: 1, tokens };
}

export function conditionSizes(tokens: number, frames: number): Sizes {
  return { batch: 1, tokens, frames };
}

/** Lists the work to test for a package; only the shipped families' graphs are known. */
export function engineWork({ manifest }: PackageFolder): readonly EngineWork[] {
  if (manifest.family === "ctc-two-pass") return [LIVE, FILES];
  return manifest.family === "flow-matching" ? [SPEECH] : [];
}

/** Reduces the work to one run of one graph, only to test whether a provider works. */
export function smallWork({ engine, worth }: EngineWork): EngineWork {
  return { engine, worth, graphs: [SMALL[engine]] };
}

const SMALL: Readonly<Record<EngineWork["engine"], GraphShapes>> = {
  live: { graph: "full", shapes: [fullSizes(1, 8)] },
  files: { graph: "full", shapes: [fullSizes(1, 8)] },
  speech: { graph: "condition", shapes: [conditionSizes(5, 16)] },
};

const LIVE: EngineWork = {
  engine: "live",
  graphs: [{ graph: "stream", shapes: [streamSizes(LIVE_ROWS, 1)] }],
  worth: (figures) => {
    const ms = medianMs(figures, "stream");
    if (ms === null) return null;
    const audioSecondsPerSecond = (LIVE_ROWS * FRAME_SECONDS * 1_000) / ms;
    // Each session sends one second of audio per second.
    return { audioSecondsPerSecond, sessions: Math.floor(audioSecondsPerSecond), ms };
  },
};

const FILES: EngineWork = {
  engine: "files",
  graphs: [
    { graph: "stream", shapes: [streamSizes(1, FILE_FRAMES)] },
    { graph: "full", shapes: [fullSizes(1, FILE_FRAMES)] },
  ],
  worth: (figures) => {
    const [stream, full] = [medianMs(figures, "stream"), medianMs(figures, "full")];
    if (stream === null || full === null) return null;
    const ms = stream + full;
    return { audioSecondsPerSecond: (FILE_FRAMES * FRAME_SECONDS * 1_000) / ms, sessions: null, ms };
  },
};

const SPEECH: EngineWork = {
  engine: "speech",
  graphs: [
    { graph: "encoder", shapes: [encoderSizes(PIECE_TOKENS)] },
    { graph: "condition", shapes: [conditionSizes(PIECE_TOKENS, 2 * PIECE_PATCHES)] },
    { graph: "step", shapes: [stepSizes(1, PIECE_PATCHES)] },
    { graph: "vocoder", shapes: [vocoderSizes(1, WINDOW_FRAMES)] },
  ],
  worth: (figures) => {
    const [encoder, condition, step, vocoder] = ["encoder", "condition", "step", "vocoder"].map((graph) =>
      medianMs(figures, graph),
    );
    if (encoder == null || condition == null || step == null || vocoder == null) return null;
    const windows = (2 * PIECE_PATCHES) / (WINDOW_FRAMES - WINDOW_CONTEXT_FRAMES);
    const ms = encoder + condition + SOLVER_STEPS * step + windows * vocoder;
    const seconds = 2 * PIECE_PATCHES * MEL_FRAME_SECONDS;
    return { audioSecondsPerSecond: (seconds * 1_000) / ms, sessions: null, ms };
  },
};

function medianMs(figures: readonly ShapeFigures[], name: string): number | null {
  return figures.find(({ graph }) => graph === name)?.p50Ms ?? null;
}
