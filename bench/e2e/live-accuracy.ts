import { fileURLToPath } from "node:url";
import type { LiveEngine } from "../../actors/engine/live-engine.js";
import { loadRecognizer } from "../../native/worker/load-recognizer.js";
import { type ErrorRates, errorRates } from "../../src/domain/accuracy/error-rate.js";
import { toInt16 } from "../../src/domain/audio/pcm.js";
import { groupBy } from "../evaluate/group-by.js";
import { prepareSet } from "../evaluate/prepare.js";
import { percent, table } from "../evaluate/report.js";
import { readIndex, readRecordings, type SpokenItem, selectItems } from "../evaluate/sets.js";
import { readWav } from "../evaluate/wav.js";
import { saveResult } from "../save-result.js";
import { recognizerEngine } from "../support/recognizer-engine.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const RATE_HZ = 16_000;
/** Silence around each recording, as before and after somebody speaks. */
const LEAD_SAMPLES = 8_000;
const TAIL_SAMPLES = 16_000;
const EOU_MS = [100, 200, 300, 500, 800];

interface Heard {
  readonly item: SpokenItem;
  readonly file: string;
  /** By threshold of silence, in the order of `EOU_MS`. */
  readonly live: readonly { readonly text: string; readonly finals: number }[];
}

/** `npm run bench -- live-accuracy [20]`: error rates of live finals beside those of files, at most so many of each set. */
export async function run(options: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
  const limit = options.smoke ? 1 : Number(options.args[0] ?? Number.POSITIVE_INFINITY);
  const thresholds = options.smoke ? [200] : EOU_MS;
  const items = selectItems(
    [...(await readIndex(prepareSet("evaluation"))), ...(await readRecordings())],
    [],
    limit,
  );
  const { model, utterances } = await loadRecognizer({ modelFolder: MODEL, intraOpThreads: 1 });
  const engine = await recognizerEngine({ modelFolder: MODEL });
  await engine.start();
  const heard: Heard[] = [];
  try {
    for (const item of items) {
      const pcm = await readWav(item.path, RATE_HZ);
      const { text: file } = await utterances.decode(pcm, {
        offsetSeconds: 0,
        speechMean: 1,
        hotWords: null,
      });
      const live = await Promise.all(thresholds.map((eouMs) => listen(engine, pcm, eouMs)));
      heard.push({ item, file, live });
    }
  } finally {
    await engine.stop();
    await model.release();
  }
  const sets = [...groupBy(heard, ({ item }) => item.set), ["all", heard] as const];
  const rows = sets.map(([set, group]) => rowOf(set, group, thresholds));
  const pair = (rates: ErrorRates) =>
    `${percent(rates.characterErrorRate)} / ${percent(rates.wordErrorRate)}`;
  console.log(
    table(
      ["set", "n", "file", ...thresholds.map((eouMs) => `live, ${eouMs} ms`)],
      rows.map(({ set, file, live }) => [
        set,
        String(file.pairs),
        pair(file),
        ...live.map((entry) => pair(entry.rates)),
      ]),
    ),
  );
  if (!options.smoke && limit === Number.POSITIVE_INFINITY) {
    await saveResult("live-accuracy", { parameters: { thresholdsMs: thresholds }, rows });
  }
}

function rowOf(set: string, group: readonly Heard[], thresholds: readonly number[]) {
  const rates = (textOf: (heard: Heard) => string) =>
    errorRates(group.map((heard) => ({ reference: heard.item.reference, hypothesis: textOf(heard) })));
  return {
    set,
    file: rates(({ file }) => file),
    live: thresholds.map((eouMs, index) => ({
      eouMs,
      rates: rates(({ live }) => live[index]?.text ?? ""),
      finalsPerRecording:
        group.reduce((total, { live }) => total + (live[index]?.finals ?? 0), 0) / group.length,
    })),
  };
}

async function listen(engine: LiveEngine, pcm: Float32Array, endOfUtteranceMs: number) {
  const samples = new Int16Array(LEAD_SAMPLES + pcm.length + TAIL_SAMPLES);
  samples.set(toInt16(pcm), LEAD_SAMPLES);
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
  return { text: texts.filter((text) => text !== "").join(" "), finals: texts.length };
}
