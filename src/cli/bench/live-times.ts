import { countWordEdits } from "../../../core/domain/text/error-rate.js";
import type { SessionRun, TimedEvent } from "./live-session.js";
import { NO_OUTCOME, type Outcome } from "./outcome.js";
import type { SpokenPlan, Utterance } from "./spoken-plan.js";

/** A final belongs to a sentence if it ends within this time of it, or starts before the next one. */
const NEAR_SECONDS = 0.5;

/**
 * Computes the delays of a session from the audio itself. A delay counts from when the sample was due to be
 * spoken, even if the bench sent it late.
 *
 * @param levelStartedAtMs when the level started, for the timeline
 */
export function outcomeOf(run: SessionRun, plan: SpokenPlan, levelStartedAtMs: number): Outcome {
  const spoken = plan.utterances.filter(({ end }) => end < run.sentSeconds);
  const wallOf = (second: number) => run.startedAtMs + second * 1_000;
  const finals: number[] = [];
  const firstPartials: number[] = [];
  const lags: number[] = [];
  const timed: { second: number; value: number }[] = [];
  const words: { edits: number; length: number }[] = [];
  let missed = 0;
  for (const [nth, utterance] of spoken.entries()) {
    const untilSecond = plan.utterances[nth + 1]?.onset ?? Number.POSITIVE_INFINITY;
    const heard = heardOf(run, utterance, untilSecond, wallOf);
    const final = heard.finals.at(-1);
    if (final === undefined) missed++;
    else {
      finals.push(final.atMs - wallOf(utterance.end));
      timed.push({ second: (wallOf(utterance.end) - levelStartedAtMs) / 1_000, value: finals.at(-1)! });
    }
    if (heard.partials[0] !== undefined) firstPartials.push(heard.partials[0].atMs - wallOf(utterance.onset));
    for (const { event, atMs } of heard.partials)
      if (event.type === "partial" && event.end !== null) lags.push(atMs - wallOf(event.end));
    if (utterance.text !== null)
      words.push(countWordEdits({ reference: utterance.text, hypothesis: heard.text }));
  }
  return {
    ...NO_OUTCOME,
    values: {
      final: finals,
      first_partial: firstPartials,
      partial_lag: lags,
      ready: run.readyMs === null ? [] : [run.readyMs],
    },
    ...{ timed, words, missed },
    sentences: spoken.length,
    failure: run.failure,
  };
}

interface Heard {
  readonly finals: readonly TimedEvent[];
  readonly partials: readonly TimedEvent[];
  readonly text: string;
}

/**
 * Finds the messages that belong to a sentence. If messages have times, its final ends within half a second
 * of its end. Otherwise the final arrives after the sentence ends and before the next one.
 */
function heardOf(
  { events }: SessionRun,
  { onset, end }: Utterance,
  untilSecond: number,
  wallOf: (second: number) => number,
): Heard {
  const within = events.filter(({ event, atMs }) => {
    if (event.type === "final" && event.end !== null) return event.end > onset && event.end < untilSecond;
    return atMs > wallOf(onset) && atMs < wallOf(untilSecond);
  });
  const all = within.filter(({ event }) => event.type === "final");
  const finals = all.filter(({ event, atMs }) =>
    event.type === "final" && event.end !== null
      ? Math.abs(event.end - end) < NEAR_SECONDS
      : atMs > wallOf(end),
  );
  const partials = within.filter(
    ({ event, atMs }) => event.type === "partial" && atMs > wallOf(onset) && atMs < wallOf(end + 1),
  );
  const text = all.map(({ event }) => (event.type === "final" ? event.text : "")).join(" ");
  return { finals, partials, text };
}
