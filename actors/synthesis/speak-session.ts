import type { SpeakingModel } from "../../core/domain/catalog/catalog.js";
import { CLOSE } from "../../core/domain/close-codes.js";
import { asServiceError, type ErrorCode, ServiceError } from "../../core/domain/errors.js";
import type { SaidWord } from "../../core/domain/synthesis/word-times.js";
import { brokenPauseRule } from "../../core/domain/text/pause-marks.js";
import { goesOnInRussian } from "../../core/domain/text/russian/abbreviations.js";
import { readerFor } from "../../core/domain/text/spoken-sentences.js";
import { Actor } from "../../core/kernel/actor.js";
import { Turns } from "../../core/kernel/turns.js";
import type { Log } from "../../core/observe/log.js";
import type {
  SentSpeech,
  SpeakConversation,
  SpeakSink,
  SpeakWishes,
} from "../../core/ports/conversations.js";
import type { SpeechMeter } from "../../core/ports/usage-meter.js";
import { NO_GROWTH, requireBoundedGrowth } from "../../core/protocol/pronunciations.js";
import { planSynthesis } from "./plan.js";
import { SynthesisSession, type SynthesisSessionOptions } from "./session.js";
import {
  decideSpeaking,
  NEW_SPEAKING,
  type Sentence,
  SPEAK_IDLE_SECONDS,
  type SpeakEffect,
  type SpeakMessage,
  type SpeakState,
} from "./speak-decision.js";

/** Counts a session in the metrics. */
export interface SpeakObserver {
  opened(): void;
  /** Reports the first audio of a turn, sent `afterMs` after its first sentence was complete. */
  firstAudio(afterMs: number): void;
  /** Called when the client clears a sentence whose audio had started. */
  interrupted(): void;
  /** Called when an error is sent. */
  failed(code: string): void;
  ended(): void;
}

export interface SpeakSessionParts {
  readonly model: SpeakingModel;
  readonly wishes: SpeakWishes;
  /** Options of the synthesis of each sentence. */
  readonly synthesis: Omit<SynthesisSessionOptions, "delivery">;
  /** Creates the meter of a turn; `turn` starts at 0. */
  readonly meterOf: (turn: number) => SpeechMeter;
  /** Returns the credits for a turn of this many characters. */
  readonly priceOf: (characters: number) => number;
  readonly sink: SpeakSink;
  readonly log: Log;
  readonly observer?: SpeakObserver;
}

/** Shared by all sessions. */
const turns = new Turns();

const NOTHING: SentSpeech = { samples: 0, characters: 0, credits: 0 };

/** Errors in a text: the session skips the sentence and continues. */
const OF_THE_TEXT: ReadonlySet<ErrorCode> = new Set(["NOTHING_TO_SAY", "TEXT_TOO_LONG", "INVALID_REQUEST"]);

/**
 * Speaks text that arrives in pieces, each sentence as soon as it is complete. The text between two flushes
 * is a turn. A turn is charged once, for the sentences whose audio has started to reach the client.
 */
export class SpeakSession implements SpeakConversation {
  readonly #parts: SpeakSessionParts;
  readonly #actor: Actor<SpeakState, SpeakMessage, SpeakEffect>;
  readonly #idleTimer: NodeJS.Timeout;
  #turns = 0;
  /** Meter of the current turn; null before its first sentence. */
  #meter: SpeechMeter | null = null;
  /** Text that was not passed to the actor yet. */
  #arrived = "";
  /** Characters of the current turn whose audio was sent. */
  #delivered = 0;
  /** The sentence that was started last. */
  #sentence: Sentence | null = null;
  /** When the current turn's first sentence started; null before it, and once its audio was sent. */
  #turnBeganAtMs: number | null = null;
  /** Number of samples sent in the current turn. */
  #samples = 0;
  #pronunciations: SpeakWishes["pronunciations"];
  /** Of the current turn. */
  #growth = NO_GROWTH;
  #receipt = { turn: NOTHING, session: NOTHING };
  /** Stops the sentence being spoken. */
  #cancel: (() => void) | null = null;
  #hasEnded = false;

  constructor(parts: SpeakSessionParts) {
    this.#parts = parts;
    this.#pronunciations = parts.wishes.pronunciations;
    const isRussian = readerFor(parts.model.lang.split("-")) === "russian";
    const goesOn = isRussian ? goesOnInRussian : undefined;
    this.#actor = new Actor<SpeakState, SpeakMessage, SpeakEffect>({
      initial: { ...NEW_SPEAKING, startsEarly: parts.wishes.startsEarly === true },
      decide: (state, message) => decideSpeaking(state, message, goesOn),
      perform: (effect) => this.#perform(effect),
      onCrash: (error) => this.#crash(error),
    });
    const idle = () => this.#actor.tell({ type: "idle" });
    this.#idleTimer = setTimeout(idle, SPEAK_IDLE_SECONDS * 1_000).unref();
    parts.observer?.opened();
  }

  pronounce(pronunciations: SpeakWishes["pronunciations"]): void {
    this.keepalive();
    this.#pronunciations = pronunciations;
  }

  /* Joins the pieces that arrive in one turn of the event loop, because every piece passed on causes a search
   * for sentences.
   */
  speak(text: string): void {
    this.keepalive();
    if (this.#arrived === "") setImmediate(() => this.#takeText());
    this.#arrived += text;
  }

  flush(): void {
    this.keepalive();
    this.#takeText();
    this.#actor.tell({ type: "flush" });
  }

  clear(): void {
    this.keepalive();
    this.#takeText();
    const { state } = this.#actor;
    if (state.phase === "open" && state.current?.hasSounded === true) this.#parts.observer?.interrupted();
    this.#actor.tell({ type: "clear" });
  }

  close(): void {
    this.#takeText();
    this.#actor.tell({ type: "close" });
  }

  keepalive(): void {
    if (!this.#hasEnded) this.#idleTimer.refresh();
  }

  badMessage(detail: string): void {
    this.#actor.tell({ type: "bad-message", detail, atMs: performance.now() });
  }

  refuse(error: ServiceError): void {
    this.#actor.tell({ type: "refused", error });
  }

  disconnected(): void {
    this.#actor.tell({ type: "disconnected" });
  }

  goingAway(): void {
    this.#takeText();
    this.#actor.tell({ type: "going-away" });
  }

  unauthorized(detail: string): void {
    this.#actor.tell({ type: "unauthorized", detail });
  }

  #takeText(): void {
    const text = this.#arrived;
    this.#arrived = "";
    this.#actor.tell({ type: "speak", text });
  }

  #perform(effect: SpeakEffect): void {
    switch (effect.type) {
      case "begin":
        if (this.#meter === null) this.#turnBeganAtMs = performance.now();
        this.#sentence = effect.sentence;
        void this.#speakSentence(effect.sentence);
        return;
      case "cancel":
        this.#cancel?.();
        this.#cancel = null;
        return;
      case "sound":
        this.#sound(effect);
        return;
      case "delivered":
        this.#delivered = effect.characters;
        this.#meter?.delivered(effect.characters);
        return;
      case "settle":
        this.#settle(effect.characters);
        return;
      case "send":
        if (effect.message.type === "error") this.#parts.observer?.failed(effect.message.code);
        this.#parts.sink.send(effect.message, this.#receipt);
        return;
      case "close-socket":
        this.#parts.sink.close(effect.code, effect.reason);
        return;
      case "release":
        this.#end();
    }
  }

  #sound({ pcm, isLast, words = [] }: Extract<SpeakEffect, { readonly type: "sound" }>): void {
    this.keepalive();
    const { id, text, turn, from } = this.#sentence!;
    this.#samples += pcm.length;
    if (pcm.length > 0 && this.#turnBeganAtMs !== null) {
      this.#parts.observer?.firstAudio(performance.now() - this.#turnBeganAtMs);
      this.#turnBeganAtMs = null;
    }
    this.#parts.sink.sound(pcm, isLast, { turn, sentence: id, text, from, words });
  }

  #settle(characters: number): void {
    this.#meter?.settle(characters);
    this.#meter = null;
    this.#delivered = 0;
    this.#growth = NO_GROWTH;
    const turn = { samples: this.#samples, characters, credits: this.#parts.priceOf(characters) };
    this.#samples = 0;
    this.#receipt = { turn, session: sumOf(this.#receipt.session, turn) };
  }

  async #speakSentence({ id, text, through, continues, isClause }: Sentence): Promise<void> {
    const { model, wishes, synthesis, sink } = this.#parts;
    let isCancelled = false;
    let session: SynthesisSession | null = null;
    this.#cancel = () => {
      isCancelled = true;
      session?.stop("client-left");
    };
    this.#meter ??= this.#parts.meterOf(this.#turns++);
    const meter = this.#meter;
    try {
      // A clear that arrived together with the text cancels the sentence before it costs anything.
      await new Promise((resolve) => setImmediate(resolve));
      if (isCancelled) return;
      const brokenPause = brokenPauseRule(text);
      if (brokenPause !== null) throw new ServiceError("INVALID_REQUEST", `text: ${brokenPause}`);
      const pronunciations = this.#pronunciations;
      this.#growth = requireBoundedGrowth(text, pronunciations, this.#growth);
      const request = { ...wishes, pronunciations, text: text.toWellFormed() };
      const plan = await planSynthesis(request, model, { continues, isClause });
      if (isCancelled) return;
      await meter.cover(through);
      if (isCancelled) return;
      session = new SynthesisSession(plan, { ...synthesis, delivery: "chunks" });
      const sentences = plan.sentences.length;
      let ended = 0;
      let samples = 0;
      /** Number of samples before the planned sentence; the times of its words count from there. */
      let before = 0;
      for await (const { pcm, endsSentence, words } of session.chunks()) {
        await sink.ready();
        if (isCancelled) return;
        const moved = movedBy(before, words);
        samples += pcm.length;
        if (endsSentence) {
          ended++;
          before = samples;
        }
        this.#actor.tell({ type: "sound", id, pcm, isLast: ended === sentences, words: moved });
      }
    } catch (thrown) {
      if (isCancelled) return;
      const error = asServiceError(thrown);
      if (OF_THE_TEXT.has(error.code)) await this.#skip(id, error);
      else this.#fail(id, error);
    }
  }

  /** Yields to the event loop and waits for a slow reader, because a text may contain many such sentences. */
  async #skip(id: number, error: ServiceError): Promise<void> {
    await turns.next();
    await this.#parts.sink.ready();
    this.#actor.tell({ type: "unspeakable", id, error });
  }

  #fail(id: number, error: ServiceError): void {
    this.#parts.log.warn({ err: error, code: error.code }, "speaking session failed");
    this.#actor.tell({ type: "failed", id, error });
  }

  #crash(error: unknown): void {
    const { code } = asServiceError(error);
    this.#parts.log.error({ err: error, code }, "speaking session crashed");
    this.#cancel?.();
    this.#end();
    this.#parts.sink.close(CLOSE.internal, "internal");
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#idleTimer);
    // Needed only after a crash; otherwise the turn is already settled.
    this.#meter?.settle(this.#delivered);
    this.#parts.observer?.ended();
  }
}

function movedBy(samples: number, words: readonly SaidWord[] = []): readonly SaidWord[] {
  if (samples === 0) return words;
  return words.map((word) => ({
    ...word,
    startSample: word.startSample + samples,
    endSample: word.endSample + samples,
  }));
}

function sumOf(one: SentSpeech, other: SentSpeech): SentSpeech {
  return {
    samples: one.samples + other.samples,
    characters: one.characters + other.characters,
    credits: one.credits + other.credits,
  };
}
