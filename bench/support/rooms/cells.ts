import { groupBy } from "../../evaluate/group-by.js";
import { percent, table } from "../../evaluate/report.js";
import { titleOf } from "./beds.js";
import { OURS, SILERO } from "./hearers.js";
import {
  backgroundCount,
  endDelayMs,
  isCut,
  PATIENCE_MS,
  type Truth,
  type Utterance,
  wordChanges,
} from "./judge.js";
import type { Final } from "./listen.js";
import type { Who } from "./speakers.js";
import type { Take } from "./takes.js";

/**
 * Name of the finals that clients receive. The other systems are voice activity with a rule, measured in
 * audio time.
 */
export const FINALS = "finals";

/** A take with the results of all systems. */
export interface HeardTake {
  readonly take: Take;
  readonly truth: Truth;
  readonly finals: readonly Final[];
  /** Utterances by system. */
  readonly utterances: ReadonlyMap<string, readonly Utterance[]>;
}

/** How well one system ends the utterances of a cell. */
export interface EndingFigures {
  /** Delays; a percentile is null if it falls on a take that did not end in time. */
  readonly delayMs: { readonly p50: number | null; readonly p90: number | null; readonly p99: number | null };
  readonly noneShare: number;
  readonly cutShare: number;
  /** Utterances opened by the background alone, per take. */
  readonly backgroundPerTake: number;
  /** Delay per take; null if the utterance did not end in time. */
  readonly delaysMs: readonly (number | null)[];
}

export interface Cell {
  readonly who: Who;
  readonly room: string;
  readonly levelDb: number | null;
  readonly takes: number;
  readonly systems: Readonly<Record<string, EndingFigures>>;
  /** Finals compared with those of the same speaker in the quiet room; null if that room was skipped. */
  readonly words: { readonly words: number; readonly inserted: number; readonly edits: number } | null;
}

/** Summarizes takes by kind of speaker, room and level. */
export function cellsOf(heard: readonly HeardTake[]): Cell[] {
  const quiet = new Map(
    heard.flatMap(({ take: { levelDb, near }, finals }) =>
      levelDb === null ? [[near, textOf(finals)] as const] : [],
    ),
  );
  const groups = groupBy(heard, ({ take }) => `${take.near?.who} ${take.room.name} ${take.levelDb}`);
  return [...groups.values()].map((group) => {
    const { room, levelDb, near } = group[0]!.take;
    const names = [...group[0]!.utterances.keys()];
    const systems: Record<string, EndingFigures> = {
      [FINALS]: endings(group, ({ finals }) => finals),
      ...Object.fromEntries(names.map((name) => [name, endings(group, (one) => one.utterances.get(name)!)])),
    };
    return {
      who: near!.who,
      room: room.name,
      levelDb,
      takes: group.length,
      systems,
      words: wordsOf(group, quiet),
    };
  });
}

/** Joins the text of all finals. */
export function textOf(finals: readonly Final[]): string {
  return finals.flatMap(({ text }) => (text === "" ? [] : [text])).join(" ");
}

/**
 * Renders the cells as a Markdown table: ours next to Silero with its own rule. An utterance in which the
 * streaming head outputs no letter ends without a final.
 */
export function cellTable(cells: readonly Cell[]): string {
  const endHead = ["no end", "cut", "opened"];
  const ownHead = ["final after, ms", "no final", ...endHead, "words added, wrong"];
  const peerHead = cells[0]?.systems[SILERO] === undefined ? [] : ["Silero after, ms", ...endHead];
  const rows = cells.map(({ who, room, levelDb, takes, systems, words }) => {
    const [finals, ours, peer] = [systems[FINALS]!, systems[OURS]!, systems[SILERO]];
    const ends = ({ noneShare, cutShare, backgroundPerTake }: EndingFigures) => [
      percent(noneShare),
      percent(cutShare),
      backgroundPerTake.toFixed(1),
    ];
    return [
      ...[who, titleOf(room), levelDb === null ? "" : String(levelDb), String(takes)],
      ...[showDelays(finals), percent(finals.noneShare), ...ends(ours)],
      words === null ? "" : `${words.inserted}, ${percent(words.edits / Math.max(1, words.words))}`,
      ...(peer === undefined ? [] : [showDelays(peer), ...ends(peer)]),
    ];
  });
  return table(["who", "room", "dB", "n", ...ownHead, ...peerHead], rows);
}

/** Percentiles of delays; a missing delay counts as later than all others. */
export function delayPercentiles(delaysMs: readonly (number | null)[]): EndingFigures["delayMs"] {
  const sorted = delaysMs.map((delay) => delay ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  const at = (share: number) => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
    return Number.isFinite(value) ? Math.round(value) : null;
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}

function endings(
  group: readonly HeardTake[],
  utterancesOf: (heard: HeardTake) => readonly Utterance[],
): EndingFigures {
  const shareOf = (is: (heard: HeardTake) => boolean) => group.filter(is).length / group.length;
  const delaysMs = group.map((heard) => endDelayMs(utterancesOf(heard), heard.truth));
  const opened = group.reduce((sum, heard) => sum + backgroundCount(utterancesOf(heard), heard.truth), 0);
  return {
    delayMs: delayPercentiles(delaysMs),
    noneShare: delaysMs.filter((delay) => delay === null).length / group.length,
    cutShare: shareOf((heard) => isCut(utterancesOf(heard), heard.truth)),
    backgroundPerTake: opened / group.length,
    delaysMs,
  };
}

function wordsOf(group: readonly HeardTake[], quiet: ReadonlyMap<Take["near"], string>): Cell["words"] {
  const sum = { words: 0, inserted: 0, edits: 0 };
  for (const { take, finals } of group) {
    const reference = quiet.get(take.near);
    if (reference === undefined) return null;
    const changes = wordChanges(reference, textOf(finals));
    sum.words += changes.words;
    sum.inserted += changes.inserted;
    sum.edits += changes.edits;
  }
  return sum;
}

function showDelays({ delayMs: { p50, p90, p99 } }: EndingFigures): string {
  return [p50, p90, p99].map((ms) => (ms === null ? `>${PATIENCE_MS}` : String(ms))).join(" / ");
}
