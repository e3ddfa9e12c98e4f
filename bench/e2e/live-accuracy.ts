import { fileURLToPath } from "node:url";
import type { LiveEngine } from "../../actors/live/engine.js";
import type { BenchOptions } from "../bench-options.js";
import { type ErrorRates, errorRates } from "../evaluate/error-rates.js";
import { groupBy } from "../evaluate/group-by.js";
import { wordErrorDifference } from "../evaluate/paired-difference.js";
import { prepareSet } from "../evaluate/prepare.js";
import { percent, table } from "../evaluate/report.js";
import { readIndex, readRecordings, type SpokenItem, selectItems } from "../evaluate/sets.js";
import { saveResult } from "../save-result.js";
import { FileListener, joined } from "../support/file-listener.js";
import { recognizerIn } from "../support/recognizer.js";
import { recognizerEngine } from "../support/recognizer-engine.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const EOU_MS = [100, 200, 300, 500, 800];
/** Default threshold; its difference from the file path is reported with an interval. */
const DEFAULT_EOU_MS = 200;

interface Heard {
  readonly item: SpokenItem;
  readonly file: string;
  /** Results by silence threshold, in the order of `EOU_MS`. */
  readonly live: readonly { readonly text: string; readonly finals: number }[];
}

/**
 * `npm run bench -- live-accuracy [20]`: error rates of live finals compared with those of files, with at
 * most the given number of recordings per set; five minutes for all. Both get exactly the same samples with
 * the same frame boundaries: frames that start 20 ms later change the word error rate of a set of two hundred
 * recordings by up to four points in either direction.
 */
export async function run(options: BenchOptions): Promise<void> {
  const limit = options.smoke ? 1 : Number(options.args[0] ?? Number.POSITIVE_INFINITY);
  const thresholds = options.smoke ? [DEFAULT_EOU_MS] : EOU_MS;
  const items = selectItems(
    [...(await readIndex(prepareSet("evaluation"))), ...(await readRecordings())],
    [],
    limit,
  );
  const heard = await hearAll(items, thresholds);
  const sets = [...groupBy(heard, ({ item }) => item.set), ["all", heard] as const];
  const rows = sets.map(([set, group]) => rowOf(set, group, thresholds));
  console.log(tableOf(rows, thresholds));
  if (!options.smoke && limit === Number.POSITIVE_INFINITY) {
    await saveResult("live-accuracy", { parameters: { thresholdsMs: thresholds }, rows });
  }
}

async function hearAll(items: readonly SpokenItem[], thresholds: readonly number[]): Promise<Heard[]> {
  const recognizer = await recognizerIn(MODEL);
  const listener = await FileListener.open(recognizer);
  const engine = await recognizerEngine({ modelFolder: MODEL });
  await engine.start();
  try {
    const heard: Heard[] = [];
    for (const item of items) {
      const { text: file } = await listener.hear(item.path);
      const samples = await listener.samples();
      const live = await Promise.all(thresholds.map((eouMs) => listen(engine, samples, eouMs)));
      heard.push({ item, file, live });
    }
    return heard;
  } finally {
    await engine.stop();
    await recognizer.model.release();
    await listener.close();
  }
}

async function listen(engine: LiveEngine, samples: Int16Array, endOfUtteranceMs: number) {
  const texts: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const live = engine.open(
      { modelId: "svc-kk-ru-v2", endOfUtteranceMs, wantsPartials: false, hotWords: [] },
      (event) => {
        if (event.type === "final") texts.push(event.text);
        if (event.type === "failed") reject(new Error(event.message));
        if (event.type === "finished") {
          live.release();
          resolve();
        }
      },
    );
    live.write(samples);
    live.finish();
  });
  return { text: joined(texts), finals: texts.length };
}

function rowOf(set: string, group: readonly Heard[], thresholds: readonly number[]) {
  const rates = (textOf: (heard: Heard) => string): ErrorRates =>
    errorRates(group.map((heard) => ({ reference: heard.item.reference, hypothesis: textOf(heard) })));
  return {
    set,
    file: rates(({ file }) => file),
    live: thresholds.map((eouMs, index) => ({
      eouMs,
      rates: rates(({ live }) => live[index]?.text ?? ""),
      overFile: wordErrorDifference(
        group.map(({ item: { reference }, file, live }) => {
          return { reference, candidate: live[index]?.text ?? "", baseline: file };
        }),
      ),
      finalsPerRecording:
        group.reduce((total, { live }) => total + (live[index]?.finals ?? 0), 0) / group.length,
    })),
  };
}

function tableOf(rows: readonly ReturnType<typeof rowOf>[], thresholds: readonly number[]): string {
  const pair = (rates: ErrorRates) =>
    `${percent(rates.characterErrorRate)} / ${percent(rates.wordErrorRate)}`;
  const atDefault = thresholds.indexOf(DEFAULT_EOU_MS);
  return table(
    [
      "set",
      "n",
      "file",
      ...thresholds.map((eouMs) => `live, ${eouMs} ms`),
      `WER over file, ${DEFAULT_EOU_MS} ms`,
    ],
    rows.map(({ set, file, live }) => {
      const { difference, low, high } = live[atDefault]!.overFile;
      return [
        set,
        String(file.pairs),
        pair(file),
        ...live.map((entry) => pair(entry.rates)),
        `${percent(difference)} (${percent(low)} to ${percent(high)})`,
      ];
    }),
  );
}
