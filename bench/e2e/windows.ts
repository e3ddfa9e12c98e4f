import { fileURLToPath } from "node:url";
import { bestToken, GreedyDecoder } from "../../core/domain/decoding/greedy.js";
import { countWordEdits } from "../../core/domain/text/error-rate.js";
import type { LogProbs } from "../../native/models/log-probs.js";
import { WindowReader } from "../../native/models/window-reader.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import type { BenchOptions } from "../bench-options.js";
import { errorRates } from "../evaluate/error-rates.js";
import { groupBy } from "../evaluate/group-by.js";
import { wordErrorDifference } from "../evaluate/paired-difference.js";
import { prepareSet } from "../evaluate/prepare.js";
import { table } from "../evaluate/report.js";
import { readSamples } from "../evaluate/samples.js";
import { readIndex, readRecordings, type SpokenItem, selectItems } from "../evaluate/sets.js";
import { saveResult } from "../save-result.js";
import { recognizerIn } from "../support/recognizer.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const STRIDES_SECONDS = [1.2, 1.6, 2.4, 3.2, 4.8];
const OVERLAPS_SECONDS = [0.8, 1.2, 1.6, 2.4, 3.2];
/** Length of the utterances to which a set's recordings are joined: windows matter only in long ones. */
const UTTERANCE_SECONDS = 12;
/** Gap between recordings, shorter than the pause that ends an utterance. */
const GAP_SECONDS = 0.12;

interface Utterance {
  readonly set: string;
  readonly reference: string;
  readonly pcm: Float32Array;
}

interface Texts {
  /** Text with the language model, as in finals. */
  readonly searched: string;
  /** Text from the best output of each row, as for models without a language model. */
  readonly greedy: string;
}

/**
 * `npm run bench -- windows [20]`: words that change if a full-context model reads utterances in windows
 * instead of whole, by stride and overlap, with at most the given number of recordings per set. The model is
 * the bundled one from its first layer on: each window starts without any state. Recordings are joined to
 * utterances of 12 s. Counts words, so the machine need not be quiet.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { smoke } = options;
  const limit = smoke ? 4 : Number(options.args[0] ?? Number.POSITIVE_INFINITY);
  const items = smoke
    ? await readRecordings()
    : [...(await readIndex(prepareSet("evaluation"))), ...(await readRecordings())];
  const recognizer = await recognizerIn(MODEL);
  const utterances = await joinedItems(selectItems(items, [], limit), recognizer);
  const whole = await readAll(utterances, recognizer, (pcm) => recognizer.model.decodeUtterance(pcm));
  const rows = [];
  for (const strideSeconds of smoke ? [1.6] : STRIDES_SECONDS) {
    for (const overlapSeconds of smoke ? [1.6] : OVERLAPS_SECONDS) {
      const read = readerOf(recognizer, { strideSeconds, overlapSeconds });
      const texts = await readAll(utterances, recognizer, read);
      rows.push({ strideSeconds, overlapSeconds, ...lossOf(utterances, whole, texts) });
      console.log(tableOf(rows.slice(-1)));
    }
  }
  console.log(tableOf(rows));
  await recognizer.model.release();
  if (smoke || limit !== Number.POSITIVE_INFINITY) return;
  const ofWhole = errorRates(
    whole.map(({ searched }, index) => ({ reference: utterances[index]!.reference, hypothesis: searched })),
  );
  const seconds = utterances.reduce((sum, { pcm }) => sum + pcm.length, 0) / 16_000;
  const parameters = { utteranceSeconds: UTTERANCE_SECONDS, gapSeconds: GAP_SECONDS };
  console.log(
    await saveResult("windows", {
      parameters,
      ...{ utterances: utterances.length, audioSeconds: seconds, whole: ofWhole, rows },
    }),
  );
}

async function joinedItems(items: readonly SpokenItem[], { model }: Recognizer): Promise<Utterance[]> {
  const { sampleRateHz } = model.manifest;
  const utterances: Utterance[] = [];
  for (const [set, group] of groupBy(items, (item) => item.set)) {
    let parts: { readonly reference: string; readonly pcm: Float32Array }[] = [];
    let seconds = 0;
    const close = () => {
      if (parts.length === 0) return;
      utterances.push({ set, ...joined(parts, Math.round(GAP_SECONDS * sampleRateHz)) });
      parts = [];
      seconds = 0;
    };
    for (const { path, reference } of group) {
      const pcm = await readSamples(path, sampleRateHz);
      if (seconds + pcm.length / sampleRateHz > UTTERANCE_SECONDS) close();
      parts.push({ reference, pcm });
      seconds += pcm.length / sampleRateHz + GAP_SECONDS;
    }
    close();
  }
  return utterances;
}

function joined(
  parts: readonly { readonly reference: string; readonly pcm: Float32Array }[],
  gapSamples: number,
) {
  const length = parts.reduce((sum, { pcm }) => sum + pcm.length, (parts.length - 1) * gapSamples);
  const pcm = new Float32Array(length);
  let filled = 0;
  for (const part of parts) {
    pcm.set(part.pcm, filled);
    filled += part.pcm.length + gapSamples;
  }
  return { reference: parts.map(({ reference }) => reference).join(" "), pcm };
}

function readerOf(
  { model }: Recognizer,
  { strideSeconds, overlapSeconds }: { readonly strideSeconds: number; readonly overlapSeconds: number },
): (pcm: Float32Array) => Promise<LogProbs> {
  const { sampleRateHz } = model.manifest;
  const rowSamples = model.outputFrameSamples;
  const wholeRows = (seconds: number) => Math.round((seconds * sampleRateHz) / rowSamples) * rowSamples;
  const reader = new WindowReader({
    windows: { strideSamples: wholeRows(strideSeconds), overlapSamples: wholeRows(overlapSeconds) },
    rowSamples,
    width: model.vocabulary.length,
    read: (pcm) => model.decodeUtterance(pcm),
    readTogether: (pcms) => Promise.all(pcms.map((pcm) => model.decodeUtterance(pcm))),
  });
  return (pcm) => reader.finish(pcm, reader.begin());
}

async function readAll(
  spoken: readonly Utterance[],
  { model, utterances }: Recognizer,
  read: (pcm: Float32Array) => Promise<LogProbs>,
): Promise<Texts[]> {
  const texts: Texts[] = [];
  for (const { pcm } of spoken) {
    const { logProbs, frames } = await read(pcm);
    const { text } = await utterances.search(logProbs, frames, {
      ...{ offsetSeconds: 0, endSeconds: Number.POSITIVE_INFINITY, speechMean: 1, hotWords: null },
    });
    texts.push({ searched: text, greedy: greedyText(logProbs, frames, model.vocabulary) });
  }
  return texts;
}

function greedyText(logProbs: Float32Array, frames: number, vocabulary: readonly string[]): string {
  const greedy = new GreedyDecoder(vocabulary);
  for (let row = 0; row < frames; row++) {
    const best = bestToken(logProbs, row * vocabulary.length, vocabulary.length);
    greedy.take(best, logProbs[row * vocabulary.length + best]!);
  }
  return greedy.text;
}

function lossOf(spoken: readonly Utterance[], whole: readonly Texts[], read: readonly Texts[]) {
  const lossBy = (kind: keyof Texts) => ({
    /** Difference of word error against the references. */
    ...wordErrorDifference(
      spoken.map(({ reference }, index) => ({
        ...{ reference, candidate: read[index]![kind], baseline: whole[index]![kind] },
      })),
    ),
    changed: changedShare(
      whole.map((texts, index) => ({ reference: texts[kind], hypothesis: read[index]![kind] })),
    ),
  });
  return { searched: lossBy("searched"), greedy: lossBy("greedy") };
}

/** Returns the share of words that differ. */
function changedShare(pairs: readonly { readonly reference: string; readonly hypothesis: string }[]): number {
  const counts = pairs.map(countWordEdits);
  const edits = counts.reduce((sum, count) => sum + count.edits, 0);
  return edits / counts.reduce((sum, { length }) => sum + length, 0);
}

type Row = ReturnType<typeof lossOf> & { readonly strideSeconds: number; readonly overlapSeconds: number };

function tableOf(rows: readonly Row[]): string {
  const head = [
    "stride",
    "overlap",
    "word error more",
    "interval",
    "words changed",
    "greedy: more",
    "changed",
  ];
  const percent = (share: number) => (100 * share).toFixed(2);
  const shown = rows.map(({ strideSeconds, overlapSeconds, searched, greedy }) => [
    `${strideSeconds} s`,
    `${overlapSeconds} s`,
    percent(searched.difference),
    `${percent(searched.low)} to ${percent(searched.high)}`,
    percent(searched.changed),
    percent(greedy.difference),
    percent(greedy.changed),
  ]);
  return table(head, shown);
}
