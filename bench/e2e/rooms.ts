import { parseArgs } from "node:util";
import type { BenchOptions } from "../bench-options.js";
import { MODELS } from "../evaluate/paths.js";
import { saveResult } from "../save-result.js";
import { recognizerIn } from "../support/recognizer.js";
import { Beds, ROOMS, type Room } from "../support/rooms/beds.js";
import { cellsOf, cellTable, type HeardTake } from "../support/rooms/cells.js";
import { EOU_MS } from "../support/rooms/endings.js";
import { type Hearer, ownHearer, sileroHearers } from "../support/rooms/hearers.js";
import type { Truth, Utterance } from "../support/rooms/judge.js";
import { type Listener, pacedListener, steppedListener } from "../support/rooms/listen.js";
import {
  accuracyRows,
  accuracyTable,
  aftermathRows,
  aftermathTable,
  aloneRows,
  aloneTable,
} from "../support/rooms/side-figures.js";
import { hasSilero, SILERO_PACKAGE } from "../support/rooms/silero.js";
import { loadSpeakers, WHO, type Who } from "../support/rooms/speakers.js";
import { frameRows, frameTable } from "../support/rooms/speech-frames.js";
import { aftermathTakes, aloneTakes, cellTakes, mixTake, type Take } from "../support/rooms/takes.js";

const MODEL = "svc-kk-ru-v2";
const DEFAULTS = { count: 24, aloneMinutes: 10, sessions: 40 };
const TALK = { seconds: 60, sentences: 8 };
const SMOKE_TALK = { seconds: 10, sentences: 1 };
const SMOKE_ROOMS = ["quiet", "one", "fan"];

interface Plan {
  readonly rooms: readonly Room[];
  readonly who: readonly Who[];
  readonly count: number;
  readonly aloneMinutes: number;
  readonly sessions: number;
  readonly isFast: boolean;
  readonly isSmoke: boolean;
}

/**
 * `npm run bench -- rooms [--fast] [--rooms six,fan] [--who people] [--count 8] [--alone-minutes 10]
 * [--sessions 40]`: how live utterances end in rooms with other voices and noise, next to Silero VAD over the
 * same samples. Paced clients of a real service by default, 15 minutes; `--fast` runs unpaced and measures
 * audio time. Only a paced run of everything is saved.
 */
export async function run(options: BenchOptions): Promise<void> {
  const plan = planOf(options);
  const { near, talkers } = await loadSpeakers(plan.who, plan.count, plan.isSmoke ? SMOKE_TALK : TALK);
  const beds = new Beds(talkers, plan.rooms);
  const recognizer = await recognizerIn(MODELS + MODEL);
  const peers = plan.isSmoke && !hasSilero() ? [] : await sileroHearers();
  const hearers = [ownHearer(recognizer), ...peers];
  try {
    const takes = [
      ...cellTakes(plan.rooms, near),
      ...aftermathTakes(plan.rooms, near),
      ...aloneTakes(plan.rooms, plan.aloneMinutes),
    ];
    const listener = plan.isFast ? steppedListener(recognizer) : pacedListener(plan.sessions);
    const heard = await hearAll(takes, beds, { listener, hearers });
    const of = (purpose: Take["purpose"]) => heard.filter(({ take }) => take.purpose === purpose);
    const cells = cellsOf(of("cell"));
    console.log(cellTable(cells));
    const aftermath = aftermathRows(of("aftermath"));
    console.log(`\n${aftermathTable(aftermath)}`);
    const alone = aloneRows(of("alone"));
    console.log(`\n${aloneTable(alone)}`);
    const accuracy = await accuracyRows(recognizer, of("cell"), (take) => mixTake(take, beds).pcm);
    console.log(`\n${accuracyTable(accuracy)}`);
    const frames = await frameRows(near, hearers);
    console.log(`\n${frameTable(frames)}`);
    if (!isWhole(plan)) return;
    const { count, aloneMinutes, sessions } = plan;
    const parameters = { model: MODEL, eouMs: EOU_MS, count, aloneMinutes, sessions, silero: SILERO_PACKAGE };
    await saveResult("rooms", { parameters, cells, aftermath, alone, accuracy, frames });
  } finally {
    for (const hearer of hearers) await hearer.release();
    await recognizer.model.release();
  }
}

/**
 * Collects finals first, while nothing else loads the machine, then runs voice activity over the same
 * samples.
 */
async function hearAll(
  takes: readonly Take[],
  beds: Beds,
  { listener, hearers }: { readonly listener: Listener; readonly hearers: readonly Hearer[] },
): Promise<HeardTake[]> {
  const finals = await listener(takes, (take) => mixTake(take, beds).pcm);
  const heard: HeardTake[] = [];
  for (const [index, take] of takes.entries()) {
    const { pcm, truth }: { pcm: Int16Array; truth: Truth } = mixTake(take, beds);
    const utterances = new Map<string, readonly Utterance[]>();
    for (const hearer of hearers) {
      for (const { system, found } of await hearer.utterances(pcm)) utterances.set(system, found);
    }
    heard.push({ take, truth, finals: finals[index]!, utterances });
  }
  return heard;
}

function planOf({ smoke, args }: BenchOptions): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      fast: { type: "boolean", default: false },
      rooms: { type: "string" },
      who: { type: "string" },
      count: { type: "string" },
      "alone-minutes": { type: "string" },
      sessions: { type: "string" },
    },
  });
  const roomNames = values.rooms?.split(",") ?? (smoke ? SMOKE_ROOMS : ROOMS.map(({ name }) => name));
  return {
    rooms: roomNames.map((name) => oneOf("--rooms", name, ROOMS, (room) => room.name)),
    who: values.who === undefined ? WHO : [oneOf("--who", values.who, WHO, (who) => who)],
    count: numberOf("--count", values.count, smoke ? 1 : DEFAULTS.count),
    aloneMinutes: numberOf("--alone-minutes", values["alone-minutes"], smoke ? 0.1 : DEFAULTS.aloneMinutes),
    sessions: numberOf("--sessions", values.sessions, DEFAULTS.sessions),
    isFast: smoke || values.fast,
    isSmoke: smoke,
  };
}

function isWhole({ rooms, who, count, isFast }: Plan): boolean {
  return !isFast && rooms.length === ROOMS.length && who.length === WHO.length && count >= DEFAULTS.count;
}

function oneOf<T>(option: string, name: string, known: readonly T[], nameOf: (item: T) => string): T {
  const found = known.find((item) => nameOf(item) === name);
  if (found !== undefined) return found;
  throw new RangeError(`${option} must be one of ${known.map(nameOf).join(", ")}, received "${name}"`);
}

function numberOf(option: string, value: string | undefined, usual: number): number {
  const number = value === undefined ? usual : Number(value);
  if (number > 0) return number;
  throw new RangeError(`${option} must be a number above 0, received "${value}"`);
}
