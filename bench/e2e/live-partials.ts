import { fileURLToPath } from "node:url";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import type { BenchOptions } from "../bench-options.js";
import { type ErrorRates, errorRates } from "../evaluate/error-rates.js";
import { percent, table } from "../evaluate/report.js";
import { readSamples } from "../evaluate/samples.js";
import { readRecordings, selectItems } from "../evaluate/sets.js";
import { saveResult } from "../save-result.js";
import { runLive } from "../support/live-client.js";
import { qualityOf, withLetters } from "../support/partial-quality.js";
import { beginsWithTail, type ShownUtterance, shownUtterances } from "../support/partial-tails.js";
import { recognizerIn } from "../support/recognizer.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import {
  joinedStream,
  SAMPLE_RATE_HZ,
  type SpokenStream,
  speak,
  speechOf,
} from "../support/spoken-stream.js";
import { type SteppedSession, stepSession } from "../support/stepped-session.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
/** Short utterances, as in conversation, where utterance ends matter most. */
const SENTENCES = [
  "Бүгін күн жылы.",
  "Мен дүкенге барамын.",
  "Алма сатып алдым.",
  "Сағат неше болды?",
  "Ол кітап оқып отыр.",
  "Ертең қалаға келемін.",
  "Жақсы, рақмет.",
];
const VOICES = ["aigul", "dauren", "saule", "timur"];
const PEOPLE = ["human-asterisk-ru-core", "human-asterisk-ru-additional"];
const RECORDINGS_PER_SET = 14;
const UTTERANCES_PER_STREAM = 7;
/**
 * Length of a pause: above the threshold, but short enough that the next utterance starts before the last
 * letters are output.
 */
const PAUSE_SAMPLES = 0.26 * SAMPLE_RATE_HZ;
const EOU_MS = [100, 200];
const MESSAGE_SAMPLES = 640;

interface SpeechGroup {
  readonly group: string;
  readonly streams: readonly SpokenStream[];
}

/**
 * `npm run bench -- live-partials`: how well partials predict their finals across short pauses. Counts and
 * error rates of texts, in real time through the service's socket, half a minute per threshold; then the
 * streaming head's letters compared with the search's words, alternating, one minute.
 */
export async function run(options: BenchOptions): Promise<void> {
  const service = await startServiceProcess({ LIVE_PER_ORG: "100" });
  await creditDevelopment(service, 1_000_000_000);
  try {
    const voices = options.smoke ? VOICES.slice(0, 1) : VOICES;
    const groups: SpeechGroup[] = [await spokenByService(service, voices)];
    if (!options.smoke) groups.push(await spokenByPeople());
    const rows = [];
    for (const eouMs of options.smoke ? EOU_MS.slice(-1) : EOU_MS) {
      const heard = await Promise.all(
        groups.flatMap(({ group, streams }) =>
          streams.map(async (stream) => ({ group, utterances: await listen(service, stream, eouMs) })),
        ),
      );
      for (const { group } of groups) {
        rows.push(
          rowOf(
            group,
            eouMs,
            heard.filter((one) => one.group === group).map(({ utterances }) => utterances),
          ),
        );
      }
    }
    console.log(tableOf(rows));
    const worth = await compareWays(groups);
    console.log(worthTableOf(worth));
    const parameters = {
      pauseSamples: PAUSE_SAMPLES,
      messageSamples: MESSAGE_SAMPLES,
      sentences: SENTENCES,
      voices,
    };
    if (!options.smoke) await saveResult("live-partials", { parameters, rows, worth });
  } finally {
    await service.stop();
  }
}

/** Compares partials with the letters of the streaming head, alternating over the same streams. */
async function compareWays(groups: readonly SpeechGroup[]) {
  const searched = await recognizerIn(MODEL);
  const ways = { letters: withLetters(searched), words: searched };
  const worth = [];
  for (const { group, streams } of groups) {
    const heard: Record<keyof typeof ways, SteppedSession[]> = { letters: [], words: [] };
    for (const { pcm } of streams) {
      heard.letters.push(await stepSession(ways.letters, pcm, {}));
      heard.words.push(await stepSession(ways.words, pcm, {}));
    }
    worth.push({ group, way: "letters", ...qualityOf(heard.letters) });
    worth.push({ group, way: "words", ...qualityOf(heard.words) });
  }
  await searched.model.release();
  return worth;
}

function worthTableOf(worth: Awaited<ReturnType<typeof compareWays>>): string {
  const pair = ({ characterErrorRate, wordErrorRate }: ErrorRates) =>
    `${percent(characterErrorRate)} / ${percent(wordErrorRate)}`;
  return table(
    [
      "speech",
      "partials",
      "last to final",
      "while spoken",
      "stable",
      "of it changed",
      "replaced",
      "CPU ms/s",
    ],
    worth.map((row) => [
      row.group,
      row.way,
      pair(row.lastPartialToFinal),
      pair(row.whileSpokenToFinal),
      percent(row.stableShare),
      percent(row.stableThatChanged),
      percent(row.replacedPerFinalWord),
      (1_000 * row.cpuPerAudioSecond).toFixed(1),
    ]),
  );
}

async function spokenByService(service: ServiceProcess, voices: readonly string[]): Promise<SpeechGroup> {
  const streams: SpokenStream[] = [];
  for (const voice of voices) {
    const recordings: Int16Array[] = [];
    for (const text of SENTENCES) recordings.push(speechOf(await speak(service, { text, voice })));
    streams.push(joinedStream(recordings, PAUSE_SAMPLES));
  }
  return { group: "Kazakh, synthetic voices", streams };
}

async function spokenByPeople(): Promise<SpeechGroup> {
  const items = selectItems(await readRecordings(), PEOPLE, RECORDINGS_PER_SET);
  const recordings = await Promise.all(
    items.map(async ({ path }) => speechOf(toInt16(await readSamples(path, SAMPLE_RATE_HZ)))),
  );
  const streams: SpokenStream[] = [];
  for (let first = 0; first < recordings.length; first += UTTERANCES_PER_STREAM) {
    streams.push(joinedStream(recordings.slice(first, first + UTTERANCES_PER_STREAM), PAUSE_SAMPLES));
  }
  return { group: "Russian, telephone prompts", streams };
}

async function listen(service: ServiceProcess, stream: SpokenStream, eouMs: number) {
  const { received } = await runLive({
    url: service.url,
    key: service.key,
    pcm: stream.pcm,
    messageSamples: MESSAGE_SAMPLES,
    isPaced: true,
    query: `?eou_ms=${eouMs}`,
  });
  const onsets = stream.utterances.map(({ onsetSample }) => onsetSample / SAMPLE_RATE_HZ);
  return shownUtterances(
    received.map(({ message }) => message),
    onsets,
  );
}

function rowOf(group: string, eouMs: number, streams: readonly (readonly ShownUtterance[])[]) {
  const utterances = streams.flat();
  const tails = streams.flatMap((shown) =>
    shown.slice(1).filter((later, i) => beginsWithTail(later, shown[i]!.final)),
  );
  return {
    group,
    eouMs,
    utterances: utterances.length,
    laterUtterances: utterances.length - streams.length,
    tails: tails.length,
    lastPartialToFinal: errorRates(
      utterances
        .filter(({ final }) => final !== "")
        .map(({ final, lastPartial }) => ({ reference: final, hypothesis: lastPartial })),
    ),
    raw: utterances,
  };
}

function tableOf(rows: readonly ReturnType<typeof rowOf>[]): string {
  return table(
    ["speech", "eou_ms", "later utterances", "with a tail", "last partial to final, CER / WER"],
    rows.map(({ group, eouMs, laterUtterances, tails, lastPartialToFinal }) => [
      group,
      String(eouMs),
      String(laterUtterances),
      String(tails),
      `${percent(lastPartialToFinal.characterErrorRate)} / ${percent(lastPartialToFinal.wordErrorRate)}`,
    ]),
  );
}
