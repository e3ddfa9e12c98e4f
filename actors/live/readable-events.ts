import type { ReadableWord, RedactedSpan } from "../../core/domain/decoding/transcript.js";
import type { ScoredWord } from "../../core/domain/decoding/words.js";
import { displayLine } from "../../core/domain/text/display/display-text.js";
import { pauseOf, pausesAfter } from "../../core/domain/text/display/pauses.js";
import type {
  PreviousEnd,
  Reading,
  ReadingOptions,
  ReadingTask,
} from "../../core/domain/text/display/reading.js";
import { maskedText, maskedWords } from "../../core/domain/text/redaction/masks.js";
import { bare } from "../../core/domain/text/redaction/spoken-digits.js";
import type { LiveEvent } from "../../core/ports/live-decoder.js";
import type { TranscriptReader } from "../../core/ports/transcript-reader.js";

/** A silence of this length ends a sentence, whatever its words. */
const SURE_PAUSE_SECONDS = 1;
/**
 * If the causal network is at least this confident, a final ends its sentence immediately: 19 of 20 such ends
 * are correct, 9 of 10 in code-switched text (`npm run bench -- readable`).
 */
const SURE_END = 0.75;
/** Words of an open sentence that the network rereads with the next final. */
const MAX_CONTEXT = 60;
/**
 * A mark that the client sets this soon after the last word of an utterance still belongs to that utterance.
 */
const MARK_SECONDS = 1.5;

type FinalEvent = Extract<LiveEvent, { type: "final" }>;

/** Readable text sent with a final, if the client requested it. */
export interface ReadableFinal {
  /** Null if the client requested only masking. */
  readonly text: string | null;
  /** Text that joins this final to the previous one: punctuation that was unknown then, and a space. */
  readonly before: string;
  readonly words: readonly ReadableWord[];
  /** Probability that the speaker has finished the sentence. */
  readonly endOfTurn: number;
  readonly redactions: readonly RedactedSpan[];
}

export type ReadableEvent =
  | Exclude<LiveEvent, { type: "partial" | "final" }>
  | (Extract<LiveEvent, { type: "partial" }> & { readonly endOfTurn?: number })
  | (FinalEvent & { readonly readable?: ReadableFinal });

/** Reads sentences word by word; see `GrowingSentence`. */
interface SentenceEnd {
  endAfter(words: readonly string[]): number;
}

export interface ReadableEventsParts {
  readonly options: ReadingOptions;
  readonly reader: TranscriptReader;
  readonly sentence: SentenceEnd;
  readonly sampleRateHz: number;
  readonly emit: (event: ReadableEvent) => void;
}

/**
 * Makes the finals of a session readable, in order. Events after a final wait until its text is ready (I16).
 *
 * If a sentence may continue after its final, that final ends without punctuation; the next final supplies it
 * in `before`. Finals never change.
 */
export class ReadableEvents {
  readonly #parts: ReadableEventsParts;
  readonly #waiting: LiveEvent[] = [];
  #isReading = false;
  /** The words of the open sentence, and the pause after each. */
  #open: { readonly words: readonly string[]; readonly pauses: readonly number[] } = {
    words: [],
    pauses: [],
  };
  #previous: PreviousEnd = "none";
  #previousEndSeconds = 0;
  #stop: Reading["stop"] = ".";
  /** The reading of an utterance that may be over, begun in its pause. */
  #early: { readonly task: ReadingTask; readonly reading: Promise<Reading> } | null = null;
  /** Position of the last `finalize` or `finish`; the utterance before it is over. */
  #markSample = -1;

  constructor(parts: ReadableEventsParts) {
    this.#parts = parts;
  }

  /** Records that the client ended the utterance before this sample. */
  markedAt(sample: number): void {
    this.#markSample = sample;
  }

  /** The punctuation at the end of the session's text, which was unknown when the last final was sent. */
  get lastStop(): string {
    return this.#previous === "open" || this.#previous === "paused" ? this.#stop : "";
  }

  onEvent(event: LiveEvent): void {
    this.#waiting.push(event);
    if (!this.#isReading) this.#pass();
  }

  #pass(): void {
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      if (event.type !== "final") {
        this.#parts.emit(event.type === "partial" ? this.#partial(event) : event);
        continue;
      }
      this.#isReading = true;
      void this.#read(event).then((readable) => {
        this.#isReading = false;
        this.#parts.emit(readable);
        this.#pass();
      });
      return;
    }
  }

  /**
   * With redaction, partials have no text: personal data is recognizable only once it is complete.
   */
  #partial(event: Extract<LiveEvent, { type: "partial" }>): ReadableEvent {
    const { display, redact } = this.#parts.options;
    const shown = redact.length === 0 ? event : { ...event, text: "", stable: 0 };
    // No sentence ends while someone is speaking.
    if (!display || event.isPause !== true) return shown;
    const words = wordsOf(event.text);
    if (words.length === 0) return { ...shown, endOfTurn: 0 };
    const endOfTurn = this.#endAfter(words);
    if (event.words !== undefined && event.words.length > 0) this.#readEarly(words, event.words, endOfTurn);
    return { ...shown, endOfTurn };
  }

  /** Reads the text of a pause, so that its final need not wait. */
  #readEarly(words: readonly string[], scored: readonly ScoredWord[], endOfTurn: number): void {
    const { reader, sampleRateHz } = this.#parts;
    // Finals have their start as a sample.
    const startSeconds = Math.round(scored[0]!.start * sampleRateHz) / sampleRateHz;
    const isOver = endOfTurn >= SURE_END;
    const { task } = this.#taskOf({ words, pauses: pausesOf(scored, words.length), startSeconds, isOver });
    this.#early = { task, reading: reader.read(task) };
  }

  #endAfter(words: readonly string[]): number {
    const own = this.#parts.options.isWritten === true ? words.map(bare) : words;
    return this.#parts.sentence.endAfter([...this.#open.words, ...own]);
  }

  async #read(event: FinalEvent): Promise<ReadableEvent> {
    const { options, reader, sampleRateHz } = this.#parts;
    const words = wordsOf(event.text);
    if (words.length === 0) {
      return { ...event, readable: { text: displayed(options, ""), before: "", ...NOTHING_READ } };
    }
    const endOfTurn = options.display ? this.#endAfter(words) : 0;
    const isOver = this.#isMarked(event) || endOfTurn >= SURE_END;
    const startSeconds = event.startSample / sampleRateHz;
    const pauses = pausesOf(event.words, words.length);
    const { task, allPauses } = this.#taskOf({ words, pauses, startSeconds, isOver });
    const early = this.#early;
    this.#early = null;
    const isRead = early !== null && isSameTask(early.task, task);
    const reading = await (isRead ? early.reading : reader.read(task));
    const openWords = isOver ? 0 : Math.min(reading.openWords, MAX_CONTEXT);
    const all = task.words;
    this.#open = {
      words: all.slice(all.length - openWords),
      pauses: allPauses.slice(all.length - openWords),
    };
    this.#previous = isOver ? "ended" : "open";
    this.#previousEndSeconds = event.endSample / sampleRateHz;
    this.#stop = reading.stop;
    return readableFinal(event, reading, options, endOfTurn);
  }

  /** Returns the task that reads an utterance after the open sentence, and the pause after each of its words. */
  #taskOf(utterance: {
    readonly words: readonly string[];
    readonly pauses: readonly number[];
    readonly startSeconds: number;
    readonly isOver: boolean;
  }): { readonly task: ReadingTask; readonly allPauses: readonly number[] } {
    const { words, startSeconds, isOver } = utterance;
    const pause = startSeconds - this.#previousEndSeconds;
    const isPaused = this.#previous === "open" && pause >= SURE_PAUSE_SECONDS;
    const previous = isPaused ? "paused" : this.#previous;
    const context = previous === "none" || previous === "ended" ? [] : this.#open.words;
    const allPauses = [
      ...this.#open.pauses.slice(0, context.length - 1),
      ...(context.length > 0 ? [pauseOf(pause)] : []),
      ...utterance.pauses,
    ];
    const task: ReadingTask = {
      ...this.#parts.options,
      words: [...context, ...words],
      pauses: Float32Array.from(allPauses),
      context: context.length,
      previous,
      isOver,
    };
    return { task, allPauses };
  }

  #isMarked({ startSample, endSample }: FinalEvent): boolean {
    const behind = (this.#markSample - endSample) / this.#parts.sampleRateHz;
    return startSample < this.#markSample && behind < MARK_SECONDS;
  }
}

/** Compares two tasks of one session. */
function isSameTask(one: ReadingTask, other: ReadingTask): boolean {
  return (
    one.context === other.context &&
    one.previous === other.previous &&
    one.isOver === other.isOver &&
    isSameList(one.words, other.words) &&
    isSameList(one.pauses!, other.pauses!)
  );
}

function isSameList<T>(one: ArrayLike<T>, other: ArrayLike<T>): boolean {
  return one.length === other.length && Array.prototype.every.call(one, (item, at) => item === other[at]);
}

const NOTHING_READ = { words: [], endOfTurn: 0, redactions: [] } as const;

function readableFinal(
  event: FinalEvent,
  { pieces, redactions, before }: Reading,
  options: ReadingOptions,
  endOfTurn: number,
): ReadableEvent {
  const times = (first: number, end: number) => ({
    start: event.words[first]?.start ?? 0,
    end: event.words[end - 1]?.end ?? 0,
  });
  const spans = redactions.map(({ kind, first, end }) => ({ kind, ...times(first, end) }));
  const hidden = (index: number) =>
    redactions.reduce((sum, { first, end }) => sum + hiddenBefore(index, first, end), 0);
  const words = pieces.map(({ text, first, end }): ReadableWord => {
    const from = first - hidden(first);
    return { word: text, ...times(first, end), spoken: [from, Math.max(from + 1, end - hidden(end))] };
  });
  const text = displayed(options, displayLine(pieces.map((piece) => piece.text)));
  return {
    ...event,
    text: maskedText(event.text, redactions),
    words: maskedWords(event.words, redactions, leastSure),
    readable: { text, before, words, endOfTurn, redactions: spans },
  };
}

/**
 * Number of words removed before an index by a redaction [first, end), which leaves one word in their place.
 */
function hiddenBefore(index: number, first: number, end: number): number {
  return Math.max(0, Math.min(index, end) - first - 1);
}

function displayed({ display }: ReadingOptions, text: string): string | null {
  return display ? text : null;
}

function leastSure(words: readonly ScoredWord[]): ScoredWord {
  return words.reduce((least, word) => (word.confidence < least.confidence ? word : least));
}

function wordsOf(text: string): readonly string[] {
  return text.split(" ").filter((word) => word !== "");
}

/**
 * Returns the pause after each word. It is unknown after the last word, and for models without word times.
 */
function pausesOf(words: readonly ScoredWord[], count: number): readonly number[] {
  return words.length === count ? [...pausesAfter(words)] : Array.from({ length: count }, () => -1);
}
