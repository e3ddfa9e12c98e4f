import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { ServiceError } from "../../core/domain/errors.js";
import { readManifest } from "../../native/models/find-packages.js";
import { onFewLines, originOf } from "../save-result.js";
import { chunkTable, evaluateChunks } from "./chunks.js";
import { installedRecognizer } from "./installed.js";
import { evaluateLoudness, loudnessTable } from "./loudness.js";
import { evaluateMarks, marksGoals, marksTable } from "./marks.js";
import { evaluateNonSpeech, nonSpeechTable } from "./nonspeech.js";
import { MODELS, ROOT } from "./paths.js";
import { evaluatePeople, type PeopleOptions, peopleTable, savePeople } from "./people.js";
import { evaluateRecognition, type RecognitionReport, recognitionTable } from "./recognition.js";
import { evaluateSchedules, scheduleTable } from "./schedules.js";
import { evaluateSynthesis, type SynthesisReport, synthesisTable } from "./synthesis.js";
import { evaluateVad, vadTable } from "./vad.js";
import { addVersion, type EvaluatedPackage, versionsTable, weightsOf } from "./versions.js";
import { evaluateVoices, voicesTable } from "./voices.js";
import { evaluateWordTimes, wordTimesTable } from "./word-times.js";

const HELP = `npm run evaluate -- people DIR [--model ID] [--compare ID]
npm run evaluate -- [recognition] [nonspeech] [synthesis] [schedules] [chunks] [word-times] [loudness] [voices] [marks] [vad] [--sets kk-unseen,human] [--limit 20]

people scores an installed recogniser (--model, the default of transcription without it) on a folder of recordings with transcripts:
a table with the columns path and sentence (and locale), tabs between them, or the layout of Common Voice. It prints a table by set and
writes JSON beside it; what was heard is kept, so that a run that was ended goes on.
  --compare        another recogniser, and the paired difference of both
  --split          table to take, dev for dev.tsv; else test, validated, or the only one
  --language       of recordings whose table names none, kk or ru
  --keep-yo        tells ё from е
  --digit-free     leaves out transcripts with digits, which nobody reads out
  --fresh          hears everything again
  --threads        threads of a graph, 1
  --out            JSON file, people-ID.json
  --cache          folder for what was heard, .cache/people

The rest scores the shipped models and prints Markdown tables; all parts but schedules, chunks, word-times, loudness, voices and marks when none is named. schedules compares
ways of taking few solver steps and is only printed, chunks what solving in chunks of several lengths changes. word-times compares the word times of 40 spoken sentences with what the
recogniser hears, through the whole service, and goes into bench/results/word-times.json. loudness measures how equally loud pieces are,
into bench/results/loudness.json; with --calibrate it fits the package's loudness.json instead, which is to be sealed then. Sound is generated on the first run (needs
espeak-ng and Python). A run without --sets and --limit is written to models/<id>/evaluation.json and CARD.md, where the
figures of earlier weights stay beside the new ones. Non-speech goes through the whole service, as files and live.
voices lets every voice say 40 sentences in its own manner and as it was trained, into bench/results/voices.json.
marks scores punctuation and capitals of the shipped model on the lines of its recipe that training does not see, and compares them with
their goals, into bench/results/marks.json and the model's CARD.md (15 s).
vad scores a graph of voice activity (--vad FILE) on recordings of people, pauses and noise, and is only printed.
  --sets           comma-separated words; a set of the recogniser or of marks is scored when its name contains one of them
  --limit          utterances per set or voice, texts per set of marks; a quick look takes 10
  --nfe            solver steps to speak with, 16
  --speeds         speeds to speak at, 0.5,0.8,1,1.25,2
  --chunked        synthesis speaks in growing chunks too, as streams of samples do, and is only printed
  --vad            a graph of voice activity: Silero VAD 5 or 6, or the near voice
  --recognizer     id of a model, svc-kk-ru-v2
  --synthesizer    id of a model, svc-kk-v1`;
const PARTS = [
  "recognition",
  "nonspeech",
  "synthesis",
  "schedules",
  "chunks",
  "word-times",
  "loudness",
  "voices",
  "marks",
  "vad",
];
const ALL_SPEEDS = "0.5,0.8,1,1.25,2";
/** Matches a card's tables between their two marker comments. */
const cardPlace = (name: string) => new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*(<!-- /${name} -->)`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: "string" },
    compare: { type: "string" },
    split: { type: "string" },
    language: { type: "string", default: "" },
    "keep-yo": { type: "boolean", default: false },
    "digit-free": { type: "boolean", default: false },
    fresh: { type: "boolean", default: false },
    threads: { type: "string", default: "1" },
    out: { type: "string" },
    cache: { type: "string" },
    recognizer: { type: "string", default: "svc-kk-ru-v2" },
    synthesizer: { type: "string", default: "svc-kk-v1" },
    sets: { type: "string", default: "" },
    limit: { type: "string" },
    nfe: { type: "string", default: "16" },
    speeds: { type: "string", default: ALL_SPEEDS },
    vad: { type: "string" },
    calibrate: { type: "boolean", default: false },
    chunked: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const isPeople = positionals[0] === "people";
const isUnknown = isPeople ? positionals.length !== 2 : positionals.some((part) => !PARTS.includes(part));
if (values.help || isUnknown) {
  console.log(HELP);
  process.exitCode = isUnknown ? 2 : 0;
} else if (isPeople) {
  await evaluateOnPeople(positionals[1]!).catch((error: unknown) => {
    if (!(error instanceof RangeError || error instanceof ServiceError)) throw error;
    console.error(`Cannot evaluate: ${error.message}`);
    process.exitCode = 1;
  });
} else {
  await evaluate();
}

async function evaluateOnPeople(folder: string): Promise<void> {
  const ids = [values.model ?? null, ...(values.compare === undefined ? [] : [values.compare])];
  const models = await Promise.all(ids.map(installedRecognizer));
  const options: PeopleOptions = {
    folder,
    split: values.split ?? null,
    ...chosenItems(),
    language: values.language,
    keepsYo: values["keep-yo"],
    isDigitFree: values["digit-free"],
    isFresh: values.fresh,
    intraOpThreads: Number(values.threads),
    cacheFolder: values.cache ?? `${ROOT}.cache/people`,
  };
  const result = await evaluatePeople(models, options);
  console.log(peopleTable(result));
  console.log(await savePeople(values.out ?? `people-${models[0]!.manifest.id}.json`, options, result));
}

function chosenItems(): { readonly sets: string[]; readonly limit: number } {
  const sets = values.sets.split(",").filter((word) => word !== "");
  const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : Number(values.limit);
  if (!(limit >= 1)) throw new Error(`Cannot evaluate: --limit must be 1 or more, received ${values.limit}`);
  return { sets, limit };
}

async function evaluate(): Promise<void> {
  const { sets, limit } = chosenItems();
  const isWhole = sets.length === 0 && limit === Number.POSITIVE_INFINITY;
  const isWanted = (part: string) => positionals.length === 0 || positionals.includes(part);
  if (isWanted("recognition")) {
    const report = await evaluateRecognition({ modelId: values.recognizer, sets, limit });
    await publish(report, recognitionTable(report), isWhole);
  }
  if (isWanted("nonspeech")) {
    const result = nonSpeechTable(await evaluateNonSpeech(limit));
    console.log(`${result}\n`);
    if (isWhole) await writeIntoCard(values.recognizer, "nonspeech", result);
  }
  if (isWanted("synthesis")) {
    const ids = { modelId: values.synthesizer, recognizerId: values.recognizer };
    const nfe = values.nfe.split(",").map(Number);
    const speeds = values.speeds.split(",").map(Number);
    const report = await evaluateSynthesis({ ...ids, limit, nfe, speeds, isChunked: values.chunked });
    await publish(report, synthesisTable(report), isWhole && !values.chunked);
  }
  if (positionals.includes("schedules")) {
    const ids = { modelId: values.synthesizer, recognizerId: values.recognizer };
    console.log(scheduleTable(await evaluateSchedules({ ...ids, limit })));
  }
  if (positionals.includes("chunks")) {
    console.log(chunkTable(await evaluateChunks({ modelId: values.synthesizer, limit })));
  }
  if (positionals.includes("loudness")) {
    const { synthesizer: modelId, calibrate } = values;
    console.log(loudnessTable(await evaluateLoudness({ modelId, limit, calibrate })));
  }
  if (positionals.includes("voices")) {
    const ids = { modelId: values.synthesizer, recognizerId: values.recognizer };
    // A quick look may use another speed.
    const [speed = 1] = values.speeds.split(",").map(Number);
    const asked = values.speeds === ALL_SPEEDS ? 1 : speed;
    console.log(voicesTable(await evaluateVoices({ ...ids, limit, speed: asked })));
  }
  if (positionals.includes("marks")) {
    const report = await evaluateMarks({ sets, limit });
    const result = marksTable(report);
    console.log(`${result}\n\n${marksGoals(report)}\n`);
    if (isWhole) await writeIntoCard(report.modelId, "marks", result);
  }
  if (positionals.includes("vad")) {
    if (values.vad === undefined) throw new Error("Cannot evaluate: vad needs --vad FILE");
    console.log(vadTable(await evaluateVad(values.vad)));
  }
  if (positionals.includes("word-times")) console.log(wordTimesTable(await evaluateWordTimes(limit)));
}

/**
 * Prints a report; a complete one is saved in the package: `evaluation.json`, and its tables into `CARD.md`.
 */
async function publish(
  report: RecognitionReport | SynthesisReport,
  result: string,
  isWhole: boolean,
): Promise<void> {
  console.log(`${result}\n`);
  if (!isWhole) return;
  const folder = `${MODELS}${report.modelId}/`;
  const manifest = await readManifest(folder);
  if (manifest === null) throw new Error(`Cannot publish: ${folder} has no manifest.json`);
  const origin = originOf("evaluation");
  const before = await readFile(`${folder}evaluation.json`, "utf8").catch(() => null);
  const versions = addVersion(before === null ? null : (JSON.parse(before) as EvaluatedPackage), {
    weights: weightsOf(manifest),
    date: origin.date,
    rows: report.rows,
  });
  await writeFile(`${folder}evaluation.json`, `${onFewLines({ ...origin, ...report, versions })}\n`);
  const comparison = versionsTable(versions);
  console.log(`${comparison}\n`);
  await writeIntoCard(report.modelId, "evaluation", result);
  await writeIntoCard(report.modelId, "versions", comparison);
}

async function writeIntoCard(modelId: string, place: string, content: string): Promise<void> {
  const path = `${MODELS}${modelId}/CARD.md`;
  const card = await readFile(path, "utf8").catch(() => null);
  const found = cardPlace(place);
  if (card === null || !found.test(card)) {
    console.log(`the card of ${modelId} has no place for "${place}"`);
    return;
  }
  await writeFile(
    path,
    card.replace(found, (_, before: string, after: string) => `${before}${content}\n${after}`),
  );
  console.log(`saved "${place}" in the card of ${modelId}\n`);
}
