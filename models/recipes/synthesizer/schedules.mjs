// Searches times for few solver steps that come closest to many: node schedules.mjs PACKAGE [STEPS ...] (`npm
// run build` first) Prints a table, then the times as JSON. The sentences are training text, spoken by every
// voice. Each search starts with the sway's schedule and moves one time after another while the mel comes
// closer to that of 64 steps from the same noise.
import { FlowMatching } from "../../../dist/native/models/flow-matching/flow-matching.js";
import { readPackage } from "../../../dist/native/models/find-packages.js";
import { swaySchedule } from "../../../dist/core/domain/synthesis/schedule.js";
import { corpusLines } from "../../../dist/bench/support/corpora.js";

const [folder, ...counts] = process.argv.slice(2);
const FINE_STEPS = 64;
const SENTENCES = 2; // of each voice
const ROUNDS = 4;
const DIGITS = 4;

const model = await FlowMatching.load(await readPackage(folder, "synthesis"), { intraOpThreads: 1 });
const heldOut = new Set(corpusLines("kk-heldout.txt.br").map((line) => line.trim().toLowerCase()));
const lines = corpusLines("kk.txt.br").map((line) => line.trim().toLowerCase());
const speakable = lines.filter((line) => /^[а-яёәғқңөұүһі ,.!?-]{18,44}$/.test(line) && !heldOut.has(line));
const voices = model.manifest.voices.map(({ name }) => name);
const count = SENTENCES * voices.length;
const jobsFrom = (first) =>
  Array.from({ length: count }, (_, i) => ({
    modelId: model.manifest.id,
    voice: voices[i % voices.length],
    spokenText: speakable[first + i * Math.floor(speakable.length / count / 2)],
    speed: 1,
    nfe: FINE_STEPS,
    seed: first + i,
  }));

async function melOf(job, times) {
  const piece = await model.begin(job, times);
  while (model.isUnsolved(piece)) await model.solveChunk(piece);
  return piece.mel.slice(0, piece.frames * model.manifest.melBins);
}

/** Returns the mean over jobs of the root mean square distance between mels and those of many steps. */
async function judge(jobs) {
  const references = [];
  for (const job of jobs) references.push(await melOf(job, swaySchedule(FINE_STEPS, -1)));
  return async (times) => {
    let distance = 0;
    for (const [index, job] of jobs.entries()) {
      const [mel, reference] = [await melOf(job, Float64Array.from(times)), references[index]];
      let sum = 0;
      for (let i = 0; i < mel.length; i++) sum += (mel[i] - reference[i]) ** 2;
      distance += Math.sqrt(sum / mel.length) / jobs.length;
    }
    return distance;
  };
}

const round = (time) => Number(time.toFixed(DIGITS));
const seen = await judge(jobsFrom(0));
const unseen = await judge(jobsFrom(1));
const found = {};
console.log("| steps | sway | best | sway, other sentences | best, other sentences |");
console.log("| ---: | ---: | ---: | ---: | ---: |");
for (const steps of counts.map(Number)) {
  const swayed = [...swaySchedule(steps, -1)];
  let times = swayed.map(round);
  let best = await seen(times);
  for (let move = 0.3, rounds = 0; rounds < ROUNDS; rounds++, move /= 2) {
    for (let i = 1; i < steps; i++) {
      for (const direction of [1, -1]) {
        const neighbour = times[i + direction];
        const tried = times.with(i, round(times[i] + move * (neighbour - times[i])));
        const distance = await seen(tried);
        if (distance >= best) continue;
        [best, times] = [distance, tried];
        break;
      }
    }
  }
  found[steps] = times;
  console.error(steps, times.join(", "));
  const row = [await seen(swayed), best, await unseen(swayed), await unseen(times)];
  console.log(`| ${[steps, ...row.map((distance) => distance.toFixed(4))].join(" | ")} |`);
}
console.log(JSON.stringify(found));
await model.release();
