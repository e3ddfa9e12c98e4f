import type { ScoredPair } from "../../core/domain/text/error-rate.js";
import { decoderOf, hear, loadRecognizerParts } from "./acoustics.js";
import { decodeGreedily } from "./decode-greedily.js";
import { type ErrorRates, errorRates } from "./error-rates.js";
import { groupBy } from "./group-by.js";
import { MODELS } from "./paths.js";
import { prepareSet } from "./prepare.js";
import { percent, table } from "./report.js";
import { HUMAN_SETS, readIndex, readRecordings, type SpokenItem, selectItems } from "./sets.js";

/** Error rates of one set for the three ways to decode it. */
interface RecognitionRow {
  readonly set: string;
  readonly note: string | null;
  /** Streaming head, best output of each frame, as in partials. */
  readonly causal: ErrorRates;
  /** Full-context head, best output of each frame. */
  readonly full: ErrorRates;
  /** Full-context head, beam search with the language model, as in finals and files. */
  readonly beam: ErrorRates;
}

export interface RecognitionReport {
  readonly modelId: string;
  readonly decoding: object;
  readonly rows: readonly RecognitionRow[];
  /** Real-time factor of second pass and beam search, in one thread. */
  readonly realTimeFactor: number;
  readonly beamMsPerAudioSecond: number;
  readonly audioSeconds: number;
}

interface Decoded {
  readonly item: SpokenItem;
  readonly causal: string;
  readonly full: string;
  readonly beam: string;
}

/** Scores a recogniser on the generated evaluation set and on recordings of people. */
export async function evaluateRecognition(options: {
  readonly modelId: string;
  readonly sets: readonly string[];
  readonly limit: number;
}): Promise<RecognitionReport> {
  const recognizer = await loadRecognizerParts(MODELS + options.modelId);
  const { vocabulary } = recognizer.graphs;
  const { decoding } = recognizer.manifest;
  const search = decoderOf(recognizer);
  const all = [...(await readIndex(prepareSet("evaluation"))), ...(await readRecordings())];
  const decoded: Decoded[] = [];
  let fullMs = 0;
  let beamMs = 0;
  let audioSeconds = 0;
  for (const item of selectItems(all, options.sets, options.limit)) {
    const heard = await hear(recognizer, item);
    const before = performance.now();
    const beam = search.decode(heard.full, heard.frames).text;
    beamMs += performance.now() - before;
    fullMs += heard.fullMs;
    audioSeconds += heard.audioSeconds;
    decoded.push({
      item,
      causal: decodeGreedily(heard.causal, heard.frames, vocabulary).text,
      full: decodeGreedily(heard.full, heard.frames, vocabulary).text,
      beam,
    });
  }
  await recognizer.graphs.release();
  return {
    modelId: options.modelId,
    decoding,
    rows: [...groupBy(decoded, ({ item }) => item.set)].map(([set, group]) => rowOf(set, group)),
    realTimeFactor: (fullMs + beamMs) / 1000 / Math.max(audioSeconds, 1e-9),
    beamMsPerAudioSecond: beamMs / Math.max(audioSeconds, 1e-9),
    audioSeconds,
  };
}

/** Renders the report as Markdown: CER / WER in per cent for each way to decode. */
export function recognitionTable(report: RecognitionReport): string {
  const pair = (rates: ErrorRates) =>
    `${percent(rates.characterErrorRate)} / ${percent(rates.wordErrorRate)}`;
  const rows = report.rows.map(({ set, note, causal, full, beam }) => [
    note === null ? set : `${set} (${note})`,
    String(beam.pairs),
    pair(causal),
    pair(full),
    pair(beam),
  ]);
  const head = ["set", "n", "streaming, greedy", "full context, greedy", "full context, beam + LM"];
  const speed =
    `${(report.audioSeconds / 60).toFixed(1)} min of audio; real-time factor of the second pass and the beam search ` +
    `${report.realTimeFactor.toFixed(4)}, of the beam search alone ${(report.beamMsPerAudioSecond / 1000).toFixed(4)}.`;
  return `### ${report.modelId}: CER / WER, %\n\n${table(head, rows)}\n\n${speed}`;
}

function rowOf(set: string, group: readonly Decoded[]): RecognitionRow {
  const rates = (hypothesis: (decoded: Decoded) => string) =>
    errorRates(
      group.map(
        (decoded): ScoredPair => ({ reference: decoded.item.reference, hypothesis: hypothesis(decoded) }),
      ),
    );
  return {
    set,
    note: HUMAN_SETS.find(({ name }) => `human-${name}` === set)?.note ?? null,
    causal: rates(({ causal }) => causal),
    full: rates(({ full }) => full),
    beam: rates(({ beam }) => beam),
  };
}
