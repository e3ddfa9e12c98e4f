import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeWav } from "../../../core/domain/audio/wav.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { errorRates } from "../../evaluate/error-rates.js";
import { groupBy } from "../../evaluate/group-by.js";
import { percent, table } from "../../evaluate/report.js";
import { FileListener } from "../file-listener.js";
import { titleOf } from "./beds.js";
import { type HeardTake, textOf } from "./cells.js";
import { OURS, SILERO } from "./hearers.js";
import { backgroundCount } from "./judge.js";
import { RATE_HZ } from "./levels.js";
import type { Take } from "./takes.js";

/** Rooms and level in which accuracy is scored. */
const SCORED_ROOMS = ["quiet", "six", "three", "two", "one"];
const SCORED_DB = 20;

/** Utterances and finals that voices in the background open after the speaker, summed over a room. */
export interface AftermathRow {
  readonly room: string;
  readonly takes: number;
  readonly finals: number;
  /** Number of utterances by system. */
  readonly utterances: Readonly<Record<string, number>>;
}

/** Text and utterances that a background without a speaker produces. */
export interface AloneRow {
  readonly room: string;
  readonly seconds: number;
  readonly characters: number;
  readonly text: string;
  readonly utterances: Readonly<Record<string, number>>;
}

/** Word error rates of synthetic voices against the sentences they spoke. */
export interface AccuracyRow {
  readonly room: string;
  readonly words: number;
  readonly live: number;
  readonly file: number;
}

export function aftermathRows(heard: readonly HeardTake[]): AftermathRow[] {
  return [...groupBy(heard, ({ take }) => take.room.name)].map(([room, group]) => ({
    room,
    takes: group.length,
    finals: group.reduce((sum, { finals, truth }) => sum + after(finals, truth.end), 0),
    utterances: countsOf(group, (utterances, { truth }) => after(utterances, truth.end)),
  }));
}

export function aloneRows(heard: readonly HeardTake[]): AloneRow[] {
  return heard.map((one) => ({
    room: one.take.room.name,
    seconds: one.take.samples / RATE_HZ,
    characters: textOf(one.finals).length,
    text: textOf(one.finals),
    utterances: countsOf([one], (utterances) => utterances.length),
  }));
}

/** Transcribes the takes as files, too, and scores both. */
export async function accuracyRows(
  recognizer: Recognizer,
  heard: readonly HeardTake[],
  mix: (take: Take) => Int16Array,
): Promise<AccuracyRow[]> {
  const scored = heard.filter(
    ({ take: { near, room, levelDb } }) =>
      near?.who === "voices" && SCORED_ROOMS.includes(room.name) && [null, SCORED_DB].includes(levelDb),
  );
  const folder = await mkdtemp(join(tmpdir(), "dauys-rooms-"));
  const listener = await FileListener.open(recognizer);
  try {
    const texts = new Map<HeardTake, string>();
    const path = join(folder, "take.wav");
    for (const one of scored) {
      await writeFile(path, writeWav(mix(one.take), RATE_HZ));
      texts.set(one, (await listener.hear(path)).text);
    }
    return [...groupBy(scored, ({ take }) => take.room.name)].map(([room, group]) => {
      const rate = (hypothesisOf: (one: HeardTake) => string) =>
        errorRates(group.map((one) => ({ reference: one.take.near!.text, hypothesis: hypothesisOf(one) })));
      const live = rate(({ finals }) => textOf(finals));
      const file = rate((one) => texts.get(one)!);
      return { room, words: live.words, live: live.wordErrorRate, file: file.wordErrorRate };
    });
  } finally {
    await listener.close();
    await rm(folder, { recursive: true, force: true });
  }
}

export function aftermathTable(rows: readonly AftermathRow[]): string {
  const head = ["after the speaker, in 10 s", "n", "finals", "utterances", "utterances, Silero"];
  return table(
    head,
    rows.map(({ room, takes, finals, utterances }) => {
      const each = (count: number | undefined) => (count === undefined ? "" : (count / takes).toFixed(1));
      return [titleOf(room), String(takes), each(finals), each(utterances[OURS]), each(utterances[SILERO])];
    }),
  );
}

export function aloneTable(rows: readonly AloneRow[]): string {
  const head = ["background alone", "seconds", "characters", "utterances", "utterances, Silero"];
  return table(
    head,
    rows.map(({ room, seconds, characters, utterances }) => {
      const counts = [utterances[OURS], utterances[SILERO]].map((count) => String(count ?? ""));
      return [titleOf(room), seconds.toFixed(0), String(characters), ...counts];
    }),
  );
}

export function accuracyTable(rows: readonly AccuracyRow[]): string {
  return table(
    ["synthetic voices, words wrong, %", "words", "live", "file"],
    rows.map(({ room, words, live, file }) => {
      const name = room === "quiet" ? room : `${titleOf(room)}, ${SCORED_DB} dB`;
      return [name, String(words), percent(live), percent(file)];
    }),
  );
}

function after(utterances: readonly { readonly start: number; readonly end: number }[], end: number): number {
  const found = utterances.map((utterance) => ({ ...utterance, decidedAt: null }));
  return backgroundCount(found, { steps: new Uint8Array(0), onset: Number.NEGATIVE_INFINITY, end });
}

function countsOf(
  group: readonly HeardTake[],
  count: (
    utterances: readonly { readonly start: number; readonly end: number }[],
    heard: HeardTake,
  ) => number,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const heard of group) {
    for (const [system, utterances] of heard.utterances) {
      counts[system] = (counts[system] ?? 0) + count(utterances, heard);
    }
  }
  return counts;
}
