import { type ClusterOptions, clusterEmbeddings } from "./clustering.js";
import { sizeOfSet } from "./powerset.js";
import { firstFrameOf, type SpeakerWindow, type WindowShape } from "./windows.js";

/** A client's hints about the speakers of a recording. */
export interface SpeakerWishes {
  /** Their number; null if unknown. */
  readonly count: number | null;
}

/** A stretch of one speaker, in seconds; turns of two speakers may overlap. */
export interface SpeakerTurn {
  readonly start: number;
  readonly end: number;
  readonly speaker: number;
}

export interface TurnOptions extends ClusterOptions {
  readonly shape: WindowShape;
  /** At the shape's rate. */
  readonly sampleCount: number;
  /** Shorter turns are left out. */
  readonly leastTurnSeconds: number;
  /** Shorter gaps between two turns of one speaker are closed. */
  readonly leastGapSeconds: number;
}

/** Joins the windows of an audio to turns of its speakers, in order of their start. */
export function speakerTurns(windows: readonly SpeakerWindow[], options: TurnOptions): SpeakerTurn[] {
  const groups = groupsOf(windows, options);
  const { shape, sampleCount } = options;
  const audioSeconds = sampleCount / shape.sampleRateHz;
  const turns = activeSpans(windows, groups, options).flatMap((spans, speaker) =>
    joined(spans, options.leastGapSeconds)
      .filter(([start, end]) => end - start > options.leastTurnSeconds)
      .map(([start, end]) => ({ start, end: Math.min(end, audioSeconds), speaker }))
      .filter(({ start, end }) => start < end),
  );
  return turns.toSorted((a, b) => a.start - b.start || a.speaker - b.speaker);
}

/** Returns the group of each speaker of each window; -1 without an embedding. */
function groupsOf(windows: readonly SpeakerWindow[], options: TurnOptions): Int32Array[] {
  const [first] = windows;
  // The segmentation has already separated the speakers of one window; embeddings of so little speech are
  // less reliable.
  const local = first === undefined ? 0 : sizeOfSet(first.frames.reduce((all, set) => all | set, 0));
  if (windows.length === 1 && (options.speakerCount ?? local) >= local) {
    return [Int32Array.from(first!.embeddings, (_, speaker) => speaker)];
  }
  const labels = clusterEmbeddings(
    windows.flatMap(({ embeddings }) => embeddings.filter((embedding) => embedding !== null)),
    options,
  );
  let next = 0;
  return windows.map(({ embeddings }) =>
    Int32Array.from(embeddings, (embedding) => (embedding === null ? -1 : labels[next++]!)),
  );
}

type Span = [start: number, end: number];

/** Finds when each group is active, in seconds: per frame as many groups as the windows detect on average. */
function activeSpans(
  windows: readonly SpeakerWindow[],
  groups: readonly Int32Array[],
  { shape, sampleCount }: TurnOptions,
): Span[][] {
  const groupCount = Math.max(0, ...groups.map((own) => Math.max(-1, ...own))) + 1;
  const spans = Array.from({ length: groupCount }, (): Span[] => []);
  const starts = windows.map((_, window) => firstFrameOf(window, shape));
  const offset = (0.5 * shape.receptiveSamples) / shape.sampleRateHz;
  const timeOf = (frame: number) => (frame * shape.frameSamples) / shape.sampleRateHz + offset;
  const frameCount = Math.min(
    windows.length === 0 ? 0 : starts.at(-1)! + windows.at(-1)!.frames.length,
    Math.floor(sampleCount / shape.frameSamples) + 1,
  );
  const openedAt = new Int32Array(groupCount).fill(-1);
  const votes = new Uint16Array(groupCount);
  let firstWindow = 0;
  for (let frame = 0; frame <= frameCount; frame++) {
    while (
      firstWindow < windows.length &&
      starts[firstWindow]! + windows[firstWindow]!.frames.length <= frame
    )
      firstWindow++;
    const active =
      frame === frameCount ? [] : activeGroups(windows, groups, { starts, firstWindow, frame, votes });
    for (let group = 0; group < groupCount; group++) {
      const isActive = active.includes(group);
      if (isActive && openedAt[group]! < 0) openedAt[group] = frame;
      if (isActive || openedAt[group]! < 0) continue;
      const last = frame === frameCount ? frame - 1 : frame;
      spans[group]!.push([timeOf(openedAt[group]!), timeOf(last)]);
      openedAt[group] = -1;
    }
  }
  return spans;
}

interface Position {
  readonly starts: readonly number[];
  readonly firstWindow: number;
  readonly frame: number;
  /** Room for one count per group, zeros before and after. */
  readonly votes: Uint16Array;
}

/** Chooses the groups with the most windows at a frame, the lower number first. */
function activeGroups(
  windows: readonly SpeakerWindow[],
  groups: readonly Int32Array[],
  { starts, firstWindow, frame, votes }: Position,
): readonly number[] {
  let [heard, members] = [0, 0];
  const voted: number[] = [];
  for (let window = firstWindow; window < windows.length && starts[window]! <= frame; window++) {
    const set = windows[window]!.frames[frame - starts[window]!];
    if (set === undefined) continue;
    heard++;
    members += sizeOfSet(set);
    // Two speakers of a window in one group count as one vote.
    const own = new Set<number>();
    for (const [speaker, group] of groups[window]!.entries())
      if (group >= 0 && (set & (1 << speaker)) !== 0) own.add(group);
    for (const group of own) {
      if (votes[group] === 0) voted.push(group);
      votes[group]!++;
    }
  }
  const count = heard === 0 ? 0 : Math.floor(members / heard + 0.5);
  const chosen = voted.toSorted((a, b) => votes[b]! - votes[a]! || a - b).slice(0, count);
  for (const group of voted) votes[group] = 0;
  return chosen;
}

/** Joins spans whose gap is at most `gapSeconds`. */
function joined(spans: readonly Span[], gapSeconds: number): Span[] {
  const result: Span[] = [];
  for (const [start, end] of spans) {
    const last = result.at(-1);
    if (last !== undefined && last[1] + gapSeconds >= start) last[1] = end;
    else result.push([start, end]);
  }
  return result;
}
