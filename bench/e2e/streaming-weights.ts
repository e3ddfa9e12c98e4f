import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { RecognizerModel } from "../../native/models/recognizer.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type QuietRound, quietRound, tableOf } from "../support/quiet-round.js";
import { recognizerIn } from "../support/recognizer.js";
import { talk } from "../support/saturated-stepper.js";

const TINY = fileURLToPath(new URL("../../../test/fixtures/adapters/tiny-t-one-ctc", import.meta.url));
const COUNTS = [1, 2, 4, 8, 12, 16, 24, 32];
/**
 * Numbers of sessions for which finals are also measured the old way, read again from the start of the
 * utterance.
 */
const REREAD_COUNTS = [1, 4, 8];
const SECONDS = 30;
/** Limit for p95 of finals; a worker that exceeds it cannot serve more sessions. */
const REACH_P95_MS = 1_000;

/**
 * `npm run bench -- streaming-weights FOLDER...`: delay of finals and cost of packages with streaming graphs,
 * by sessions per worker, until finals are a second late at p95. Uses the loop and clock of
 * `growing-partials`.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { smoke } = options;
  const folders = smoke ? [TINY] : options.args.map((folder) => resolve(folder));
  if (folders.length === 0) throw new Error("specify at least one package folder");
  const packages = [];
  for (const folder of folders) {
    const recognizer = await recognizerIn(folder);
    const { id, family } = recognizer.model.manifest;
    const pcm = await talk(recognizer.model.manifest.sampleRateHz);
    const rounds: QuietRound[] = [];
    for (const sessions of smoke ? [1] : COUNTS) {
      const listening = { sessions, wantsPartials: true, seconds: smoke ? 2 : SECONDS, pcm };
      const found = await quietRound(recognizer, listening);
      rounds.push(found);
      if ((found.finalMs?.p95 ?? 0) > REACH_P95_MS) break;
    }
    const reread: QuietRound[] = [];
    for (const sessions of smoke ? [1] : REREAD_COUNTS) {
      const listening = { sessions, wantsPartials: true, seconds: smoke ? 2 : SECONDS, pcm };
      reread.push(await quietRound(rereading(recognizer), listening));
    }
    console.log(`${id}\n${tableOf(rounds)}\nfinals that reread the whole utterance\n${tableOf(reread)}`);
    packages.push({ id, family, rounds, reread });
    await recognizer.model.release();
  }
  if (smoke) return;
  console.log(
    await saveResult("streaming-weights", {
      parameters: { seconds: SECONDS, reachP95Ms: REACH_P95_MS },
      packages,
    }),
  );
}

/** Returns the same recogniser, with second passes that start without a state. */
function rereading({ model, utterances }: Recognizer): Recognizer {
  const changed = Object.create(model, {
    refine: { value: (encoded: readonly Float32Array[]) => model.refine(encoded) },
  }) as RecognizerModel;
  for (const name of ["stepBatches", "stepBatch", "decodeUtterance"] as const) {
    Object.defineProperty(changed, name, { value: model[name].bind(model) });
  }
  return { model: changed, utterances };
}
