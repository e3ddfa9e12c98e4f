import { fileURLToPath } from "node:url";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type QuietRound, quietRound, tableOf } from "../support/quiet-round.js";
import { recognizerIn } from "../support/recognizer.js";
import { talk } from "../support/saturated-stepper.js";

const TINY = fileURLToPath(new URL("../../../test/fixtures/adapters/tiny-gigaam-ctc", import.meta.url));
const COUNTS = [1, 8, 32];
const SECONDS = 30;

/**
 * `npm run bench -- growing-partials FOLDER`: the cost of partials for the package in FOLDER, whose graph
 * cannot stream. Runs a live worker's loop without its thread, with sessions that receive recordings at the
 * pace of speech, with and without partials. The clock counts CPU time, so that other load only affects
 * caches.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { smoke } = options;
  const folder = options.args[0] ?? TINY;
  const recognizer = await recognizerIn(folder);
  const pcm = await talk(recognizer.model.manifest.sampleRateHz);
  const rounds: QuietRound[] = [];
  for (const sessions of smoke ? [1] : COUNTS) {
    for (const wantsPartials of [false, true]) {
      const found = await quietRound(recognizer, {
        sessions,
        wantsPartials,
        seconds: smoke ? 2 : SECONDS,
        pcm,
      });
      rounds.push(found);
      if (!smoke) console.log(tableOf([found]));
    }
  }
  console.log(tableOf(rounds));
  const { id, family } = recognizer.model.manifest;
  await recognizer.model.release();
  if (!smoke) await saveResult("growing-partials", { parameters: { id, family, seconds: SECONDS }, rounds });
}
