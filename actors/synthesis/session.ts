import { asServiceError, type ServiceError } from "../../core/domain/errors.js";
import { LONGEST_SPEECH_SECONDS, tooLong } from "../../core/domain/synthesis/longest-speech.js";
import { pauseAfterMs } from "../../core/domain/synthesis/pauses.js";
import { RoomTone } from "../../core/domain/synthesis/room-tone.js";
import type { Urgency } from "../../core/domain/synthesis/urgency.js";
import { joinedWords, type SaidWord, saidWords } from "../../core/domain/synthesis/word-times.js";
import { Actor } from "../../core/kernel/actor.js";
import type { Log } from "../../core/observe/log.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Delivery, SpeechChunk, StopReason } from "../../core/ports/conversations.js";
import type { SynthesisJob, Synthesizer } from "../../core/ports/synthesizer.js";
import type { UnbilledSynthesis } from "../billing/billed-synthesis.js";
import {
  decideSynthesis,
  type SynthesisEffect,
  type SynthesisMessage,
  type SynthesisState,
  waitingSamples,
} from "./decision.js";
import { mostHeldBytes, SECONDS_AHEAD, type SynthesisPlan } from "./plan.js";

/** Counts a synthesis, for metrics and traces. */
interface SpeechObserver {
  /** Characters (code points) of the text that cannot be spoken and are left out. */
  dropped(characters: number): void;
  firstAudio(afterMs: number, billedCharacters: number): void;
  /** Reports audio that the reader has received. */
  audio(seconds: number): void;
}

export interface SynthesisSessionOptions {
  readonly synthesizer: Synthesizer;
  readonly delivery: Delivery;
  readonly clock: Clock;
  readonly observer?: SpeechObserver;
  readonly log?: Log;
}

interface Reader {
  readonly resolve: (result: IteratorResult<SpeechChunk>) => void;
  readonly reject: (error: ServiceError) => void;
}

/** One client's synthesis; owns the audio between the synthesizer and the reader. */
export class SynthesisSession implements UnbilledSynthesis {
  readonly modelId: string;
  readonly billedCharacters: number;
  readonly charactersThrough: readonly number[];
  readonly sampleRateHz: number;
  readonly mostHeldBytes: number;
  readonly #plan: SynthesisPlan;
  readonly #options: SynthesisSessionOptions;
  readonly #actor: Actor<SynthesisState, SynthesisMessage, SynthesisEffect>;
  readonly #roomTone: RoomTone | null;
  readonly #abort = new AbortController();
  readonly #startedAtMs: number;
  #samplesMade = 0;
  #hasDelivered = false;
  /** Continues the synthesis when fewer samples are waiting, or after a failure. */
  #resume: (() => void) | null = null;
  /** When the client first received audio to play. */
  #heardFromMs: number | null = null;
  #reader: Reader | null = null;
  #failure: ServiceError | null = null;

  constructor(plan: SynthesisPlan, options: SynthesisSessionOptions) {
    this.#plan = plan;
    this.#options = options;
    this.modelId = plan.voicing.modelId;
    this.billedCharacters = plan.billedCharacters;
    this.charactersThrough = plan.sentences.map((sentence) => sentence.charactersThrough);
    this.sampleRateHz = plan.sampleRateHz;
    this.#roomTone = plan.roomTone === null ? null : new RoomTone(plan.roomTone);
    this.mostHeldBytes = mostHeldBytes(plan, options.delivery);
    this.#actor = new Actor({
      initial: {
        phase: "speaking",
        sentenceCount: plan.sentences.length,
        begun: 0,
        finished: 0,
        delivered: 0,
        isInsideSentence: false,
        waitingChunks: [],
        isReaderWaiting: false,
      },
      decide: decideSynthesis,
      perform: (effect) => this.#perform(effect),
      onCrash: (error) => this.#fail(asServiceError(error)),
    });
    this.#startedAtMs = options.clock.nowMs();
    const { droppedCharacters } = plan;
    if (droppedCharacters === 0) return;
    options.observer?.dropped(droppedCharacters);
    options.log?.debug({ droppedCharacters }, "characters without a reading dropped");
  }

  chunks(): AsyncIterable<SpeechChunk> {
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => this.#next(),
        return: async () => {
          this.stop("client-left");
          return { done: true, value: undefined };
        },
      }),
    };
  }

  stop(_reason: StopReason): void {
    this.#actor.tell({ type: "stop" });
  }

  #next(): Promise<IteratorResult<SpeechChunk>> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#actor.state.phase === "ended") return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#actor.tell({ type: "pull" });
    });
  }

  #perform(effect: SynthesisEffect): void {
    switch (effect.type) {
      case "begin":
        void this.#speakSentence(effect.sentence);
        return;
      case "deliver":
        this.#deliver(effect.chunk);
        return;
      case "end":
        this.#takeReader()?.resolve({ done: true, value: undefined });
        return;
      case "cancel":
        this.#abort.abort();
        return;
      case "fail":
        this.#fail(effect.error);
    }
  }

  #deliver(chunk: SpeechChunk): void {
    this.#takeResume()?.();
    this.#observe(chunk);
    if (this.#options.delivery === "chunks" || chunk.endsSentence) {
      this.#heardFromMs ??= this.#options.clock.nowMs();
    }
    this.#takeReader()?.resolve({ done: false, value: chunk });
  }

  #observe({ pcm }: SpeechChunk): void {
    const { observer, clock } = this.#options;
    if (!this.#hasDelivered) observer?.firstAudio(clock.nowMs() - this.#startedAtMs, this.billedCharacters);
    this.#hasDelivered = true;
    observer?.audio(pcm.length / this.sampleRateHz);
  }

  async #speakSentence(index: number): Promise<void> {
    const { pieces, leadSamples = 0, pauseSamples } = this.#plan.sentences[index]!;
    const samplesBefore = this.#samplesMade;
    let silenceSamples = leadSamples;
    /** Words whose samples are not synthesized yet, in order. */
    const words: SaidWord[] = [];
    const add = (pcm: Int16Array, endsSentence = false) => {
      const end = this.#samplesMade - samplesBefore + pcm.length;
      const later = endsSentence ? -1 : words.findIndex(({ startSample }) => startSample >= end);
      this.#addChunk(pcm, endsSentence, words.splice(0, later < 0 ? words.length : later));
    };
    try {
      for (const [at, piece] of pieces.entries()) {
        // A single sentence may be the whole text, so its pieces wait too, and let others use the
        // synthesizer.
        if (this.#isFarAhead) await this.#readerCatchesUp();
        const job = { ...this.#plan.voicing, spokenText: piece.text, ...this.#chunking };
        const startSample = this.#samplesMade - samplesBefore + silenceSamples;
        let isTimed = false;
        const onBounds = (bounds: Int32Array) => {
          if (!isTimed) words.push(...joinedWords(saidWords(piece, bounds, startSample)));
          isTimed = true;
        };
        const { characterBounds } = await this.#options.synthesizer.speak(job, this.#abort.signal, {
          urgency: this.#urgency(samplesBefore),
          onBounds,
          onPcm: (pcm) => {
            // Held back until now: before any audio is sent, a failure can still set the HTTP status.
            if (silenceSamples > 0) add(new Int16Array(silenceSamples));
            silenceSamples = 0;
            add(pcm);
          },
        });
        if (characterBounds !== null) onBounds(characterBounds);
        if (at < pieces.length - 1) add(this.#pauseAfter(piece.text));
      }
      add(new Int16Array(pauseSamples), true);
    } catch (error) {
      this.#actor.tell({ type: "failed", error: asServiceError(error) });
    }
  }

  /**
   * With growing chunks, a streaming listener gets the first audio sooner, at the cost of more work in total.
   */
  get #chunking(): Pick<SynthesisJob, "chunking"> {
    return this.#options.delivery === "chunks" ? { chunking: "growing" } : {};
  }

  #addChunk(made: Int16Array, endsSentence: boolean, words: readonly SaidWord[]): void {
    if (this.#failure !== null) return;
    const pcm = this.#roomTone?.under(made, this.#samplesMade) ?? made;
    this.#samplesMade += pcm.length;
    // The plan's estimate may be too low for voices of other model families.
    if (this.#samplesMade > LONGEST_SPEECH_SECONDS * this.sampleRateHz) {
      const error = tooLong(`more at speed ${this.#plan.speed}`);
      this.#actor.tell({ type: "failed", error });
      return;
    }
    const chunk = { pcm, sampleRateHz: this.sampleRateHz, endsSentence, words };
    this.#actor.tell({ type: "made", chunk });
  }

  #pauseAfter(spokenPiece: string): Int16Array {
    return new Int16Array(
      Math.round((pauseAfterMs(spokenPiece, this.#plan.voicing.breath ?? 1) / 1_000) * this.sampleRateHz),
    );
  }

  /**
   * @param sentenceSamples number of samples before this sentence; a listener who gets whole sentences runs
   *   out of audio after them
   */
  #urgency(sentenceSamples: number): Urgency {
    const { delivery, clock } = this.#options;
    if (delivery === "whole") return { kind: "whole" };
    const samples = delivery === "chunks" ? this.#samplesMade : sentenceSamples;
    if (samples === 0) return { kind: "first" };
    // The first samples may reach the reader within this turn.
    const heardFromMs = this.#heardFromMs ?? clock.nowMs();
    return { kind: "heard", runsDryAtMs: heardFromMs + (samples / this.sampleRateHz) * 1_000 };
  }

  #fail(error: ServiceError): void {
    this.#failure = error;
    this.#abort.abort();
    this.#takeResume()?.();
    this.#takeReader()?.reject(error);
  }

  /** @throws {ServiceError} if the session fails meanwhile */
  async #readerCatchesUp(): Promise<void> {
    while (this.#isFarAhead) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    if (this.#failure !== null) throw this.#failure;
  }

  get #isFarAhead(): boolean {
    // After a crash, the actor's state never changes again.
    if (this.#failure !== null) return false;
    return waitingSamples(this.#actor.state) > SECONDS_AHEAD * this.sampleRateHz;
  }

  #takeResume(): (() => void) | null {
    const resume = this.#resume;
    this.#resume = null;
    return resume;
  }

  #takeReader(): Reader | null {
    const reader = this.#reader;
    this.#reader = null;
    return reader;
  }
}
