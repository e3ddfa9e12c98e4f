import { fileURLToPath } from "node:url";
import { ENDPOINTINGS, type Endpointing } from "../../core/domain/endpointing/patience.js";
import type { BenchOptions } from "../bench-options.js";
import { percent, table } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { percentiles } from "../support/percentiles.js";
import { recognizerIn } from "../support/recognizer.js";
import { startServiceProcess } from "../support/service-process.js";
import {
  joinedStream,
  SAMPLE_RATE_HZ,
  type SpokenStream,
  speak,
  speechOf,
} from "../support/spoken-stream.js";
import { stepSession } from "../support/stepped-session.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
/** Sentences in which a hyphen marks the speaker's hesitation. */
const SENTENCES = [
  "Мен ертең таңертең - дүкенге барамын.",
  "Біздің үлкен - қалада жаңа мектеп ашылды.",
  "Ол кеше кешке - кітап оқып отырды.",
  "Ауа райы бүгін - өте жақсы болады.",
  "Бұл мәселе туралы - кейін сөйлесеміз.",
  "Балалар аулада - доп ойнап жүр.",
  "Менің әкем - мектепте мұғалім болып істейді.",
  "Сіз маған осы - сөздің мағынасын айтыңызшы.",
];
const VOICES = ["aigul", "timur"];
const PAUSES_MS = [250, 400, 600];
const EOU_MS = [100, 200, 300, 500, 800];
/** Silence at the end, longer than the longest wait. */
const TAIL_SAMPLES = 2.6 * SAMPLE_RATE_HZ;

interface Row {
  readonly eouMs: number;
  readonly endpointing: Endpointing;
  readonly pauseMs: number;
  readonly sentences: number;
  readonly cutOff: number;
  /** Time from the end of each sentence to its last final, in milliseconds of audio. */
  readonly waitsMs: readonly number[];
}

/**
 * `npm run bench -- cut-offs`: how many sentences with a pause inside are cut there, and the delay of finals,
 * by threshold and kind of endpointing. Counts frames, so the machine need not be quiet. Takes three minutes.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const pauses = smoke ? PAUSES_MS.slice(1, 2) : PAUSES_MS;
  const spoken = await hesitations(smoke ? 1 : SENTENCES.length, smoke ? VOICES.slice(1) : VOICES, pauses);
  const recognizer = await recognizerIn(MODEL);
  const rows: Row[] = [];
  for (const eouMs of smoke ? [200] : EOU_MS) {
    for (const endpointing of ENDPOINTINGS) {
      for (const [pauseMs, streams] of spoken) {
        const heard = [];
        for (const { pcm, utterances } of streams) {
          const open = { endOfUtteranceMs: eouMs, endpointing, wantsPartials: false };
          const { answers } = await stepSession(recognizer, pcm, open);
          const finals = answers.filter((answer) => answer.type === "final" && answer.text);
          const waited = (finals.at(-1)?.givenSamples ?? pcm.length) - utterances[0]!.endSample;
          heard.push({ finals: finals.length, waitMs: Math.round((1_000 * waited) / SAMPLE_RATE_HZ) });
        }
        rows.push({
          ...{ eouMs, endpointing, pauseMs, sentences: heard.length },
          cutOff: heard.filter(({ finals }) => finals > 1).length,
          waitsMs: heard.map(({ waitMs }) => waitMs),
        });
      }
    }
  }
  await recognizer.model.release();
  console.log(tableOf(rows, pauses));
  if (!smoke) await saveResult("cut-offs", { parameters: { sentences: SENTENCES, voices: VOICES }, rows });
}

/** Speaks each sentence with each voice, by the length of the pause in it. */
async function hesitations(count: number, voices: readonly string[], pauses: readonly number[]) {
  const service = await startServiceProcess();
  try {
    const spoken = new Map<number, SpokenStream[]>();
    for (const pauseMs of pauses) {
      const streams: SpokenStream[] = [];
      for (const sentence of SENTENCES.slice(0, count)) {
        const text = sentence.replace("-", `[pause ${pauseMs}ms]`);
        for (const voice of voices) {
          streams.push(joinedStream([speechOf(await speak(service, { text, voice }))], TAIL_SAMPLES));
        }
      }
      spoken.set(pauseMs, streams);
    }
    return spoken;
  } finally {
    await service.stop();
  }
}

function tableOf(rows: readonly Row[], pauses: readonly number[]): string {
  const ways = rows.filter(({ pauseMs }) => pauseMs === pauses[0]);
  return table(
    ["eou_ms", "endpointing", ...pauses.map((ms) => `cut at ${ms} ms`), "final after, p50 / p95"],
    ways.map(({ eouMs, endpointing }) => {
      const own = rows.filter((row) => row.eouMs === eouMs && row.endpointing === endpointing);
      const waits = percentiles(own.flatMap(({ waitsMs }) => waitsMs));
      return [
        String(eouMs),
        endpointing,
        ...own.map(({ cutOff, sentences }) => `${percent(cutOff / sentences)} %`),
        `${waits?.p50} / ${waits?.p95} ms`,
      ];
    }),
  );
}
