import { toFloat } from "../../core/domain/audio/pcm.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import type { WordTime } from "../../core/domain/synthesis/word-time.js";
import { Timeline } from "./timeline.js";
import type { AudioBufferLike, AudioContextLike, BufferSourceLike } from "./web-audio.js";

export type { AudioContextLike } from "./web-audio.js";

/** `waiting`: all audio so far was played, but more is expected. `ended`: all audio was played. */
export type PlayerState = "playing" | "paused" | "waiting" | "ended";

export interface PlayerEvents {
  /** Playback reached the end of the audio that has arrived so far. */
  underrun: { readonly positionSeconds: number };
  /** Playback continues after an underrun. */
  recovered: { readonly positionSeconds: number };
  state: { readonly state: PlayerState };
  ended: { readonly durationSeconds: number };
}

export interface PlayerOptions {
  /** Create it after a click, as browsers require. At 24 kHz, the service's audio needs no resampling. */
  readonly context: AudioContextLike;
  /** Audio node to play to; default: the destination of the context. */
  readonly destination?: object | undefined;
  /** Seconds between scheduling audio and its start, so that no start is late; default 0.05. */
  readonly leadSeconds?: number | undefined;
}

/** A frame from `speakStream` or `speakLive`. */
interface PlayedFrame {
  readonly wav: Uint8Array;
  readonly words?: readonly WordTime[] | undefined;
  readonly turn?: number | undefined;
}

/** The part of a live session that the player uses to cancel it. */
interface Cancellable {
  /** Number of the turn to which text is written now. */
  readonly turn: number;
  cancel(played: {
    readonly playedSeconds: number;
    readonly playedTurn?: number | undefined;
  }): Promise<unknown>;
}

/** How much the listener heard before an interruption. */
export interface Interruption {
  /** The turn that was playing; 0 for speech without turns, null before any audio. */
  readonly turn: number | null;
  /** Seconds of that turn's audio that were played. */
  readonly playedSeconds: number;
}

type Listener<Name extends keyof PlayerEvents> = (event: PlayerEvents[Name]) => void;

const DEFAULT_LEAD_SECONDS = 0.05;

/**
 * Plays sentences without gaps as they arrive. Each is scheduled on the audio clock, at the sample where the
 * previous one ends. Playback starts with the first sentence.
 */
export class SentencePlayer {
  readonly #context: AudioContextLike;
  readonly #destination: object;
  readonly #leadSeconds: number;
  #timeline = new Timeline<AudioBufferLike>();
  #words: WordTime[] = [];
  /** The session that is being played. */
  #session: Cancellable | null = null;
  /** First turn that was not interrupted; frames of earlier turns are dropped. */
  #firstTurn = 0;
  readonly #sources = new Set<BufferSourceLike>();
  readonly #listeners: { [Name in keyof PlayerEvents]: Set<Listener<Name>> } = {
    underrun: new Set(),
    recovered: new Set(),
    state: new Set(),
    ended: new Set(),
  };
  #state: PlayerState = "waiting";
  /** Position at `#anchorTime` of the context's clock while playing; otherwise the current position. */
  #anchorPosition = 0;
  #anchorTime = 0;
  #hasAll = false;
  #hasUnderrun = false;

  constructor({ context, destination, leadSeconds }: PlayerOptions) {
    this.#context = context;
    this.#destination = destination ?? context.destination;
    this.#leadSeconds = leadSeconds ?? DEFAULT_LEAD_SECONDS;
  }

  get state(): PlayerState {
    return this.#state;
  }

  get positionSeconds(): number {
    if (this.#state !== "playing") return this.#anchorPosition;
    const playedSeconds = Math.max(0, this.#context.currentTime - this.#anchorTime);
    return this.#timeline.clamp(this.#anchorPosition + playedSeconds);
  }

  get arrivedSeconds(): number {
    return this.#timeline.endSeconds;
  }

  /** Words that have arrived, with times from the start of the speech. */
  get words(): readonly WordTime[] {
    return this.#words;
  }

  /**
   * The last word that has started, even during the pause after it. Null before the first word, after the
   * end, and without words. It changes without an event, so read it whenever you draw.
   */
  get currentWord(): WordTime | null {
    if (this.#state === "ended") return null;
    const position = this.positionSeconds;
    return this.#words.findLast(({ start }) => start <= position) ?? null;
  }

  /** Adds a listener. @returns a function that removes it */
  on<Name extends keyof PlayerEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners: Set<Listener<Name>> = this.#listeners[name];
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Plays frames as they arrive. Resolves when the last frame has arrived, before it was played. */
  async play(frames: AsyncIterable<PlayedFrame> | (AsyncIterable<PlayedFrame> & Cancellable)): Promise<void> {
    this.#session = "cancel" in frames ? frames : null;
    this.#firstTurn = 0;
    for await (const { wav, words, turn = 0 } of frames) {
      if (turn >= this.#firstTurn) this.push(wav, words, turn);
    }
    this.#session = null;
    this.end();
  }

  /**
   * Stops playback because the listener interrupts. Drops all audio, cancels the live session that is being
   * played, and waits for its next turn. Positions restart at 0.
   */
  interrupt(): Interruption {
    const heard = this.#timeline.turnAt(this.positionSeconds) ?? { turn: null, playedSeconds: 0 };
    this.#stopSources();
    this.#timeline = new Timeline();
    this.#words = [];
    this.#anchorPosition = 0;
    this.#hasUnderrun = false;
    if (this.#state !== "ended") this.#enter("waiting");
    if (this.#session !== null) {
      // The session's loop reports failures.
      const { playedSeconds, turn } = heard;
      this.#session.cancel({ playedSeconds, playedTurn: turn ?? undefined }).catch(() => {});
      // A frame may already be on its way from the session to the player.
      this.#firstTurn = this.#session.turn;
    }
    if (this.#hasAll && this.#state !== "ended") this.#finish();
    return heard;
  }

  /**
   * Appends a sentence, given as a WAV of 16-bit mono PCM.
   *
   * @param words words of the sentence, with times from its start, as `speakStream` returns with `timestamps`
   * @param turn turn of a live session
   * @throws {ServiceError} `AUDIO_UNREADABLE` if it is not a WAV
   * @throws {RangeError} if the WAV has a different format, or after `end`
   */
  push(wav: Uint8Array, words: readonly WordTime[] = [], turn = 0): void {
    if (this.#hasAll) throw new RangeError("cannot push after end; create another player");
    const sound = bufferOf(this.#context, wav);
    const wasUnderrun = this.#hasUnderrun;
    const { startSeconds } = this.#timeline.append(sound, sound.duration, turn);
    for (const word of words) {
      this.#words.push({ ...word, start: startSeconds + word.start, end: startSeconds + word.end });
    }
    if (this.#state === "playing") this.#startFrom(this.#timeline.endSeconds - sound.duration);
    else if (this.#state === "waiting") this.#startHere();
    if (!wasUnderrun || this.#state !== "playing") return;
    this.#hasUnderrun = false;
    this.#emit("recovered", { positionSeconds: this.#anchorPosition });
  }

  /** Declares that the speech is complete. */
  end(): void {
    this.#hasAll = true;
    if (this.#state === "waiting") this.#finish();
  }

  pause(): void {
    if (this.#state === "paused" || this.#state === "ended") return;
    this.#anchorPosition = this.positionSeconds;
    this.#stopSources();
    this.#enter("paused");
  }

  /** Continues after `pause`. After the end, starts over. */
  resume(): void {
    if (this.#state === "ended") this.#anchorPosition = 0;
    if (this.#state === "paused" || this.#state === "ended") this.#startHere();
  }

  /** Moves to a position in the audio that has arrived, in seconds. A paused player stays paused. */
  seek(seconds: number): void {
    this.#stopSources();
    this.#anchorPosition = this.#timeline.clamp(seconds);
    if (this.#state !== "paused") this.#startHere();
  }

  /** Stops playback permanently. */
  stop(): void {
    this.#anchorPosition = this.positionSeconds;
    this.#stopSources();
    this.#hasAll = true;
    this.#enter("ended");
  }

  /** Plays from the current position, if there is audio. */
  #startHere(): void {
    if (this.#anchorPosition >= this.#timeline.endSeconds) {
      this.#runDry();
      return;
    }
    this.#anchorTime = this.#context.currentTime + this.#leadSeconds;
    this.#enter("playing");
    this.#startFrom(this.#anchorPosition);
  }

  /** Schedules all audio from a position on, relative to the anchor. */
  #startFrom(position: number): void {
    for (const { piece, offsetSeconds } of this.#timeline.from(position)) {
      const source = this.#context.createBufferSource();
      source.buffer = piece.audio;
      source.connect(this.#destination as never);
      const playedFrom = piece.startSeconds + offsetSeconds;
      const whenSeconds = this.#anchorTime + playedFrom - this.#anchorPosition;
      source.start(Math.max(0, whenSeconds), offsetSeconds);
      this.#sources.add(source);
      source.onended = () => {
        source.disconnect();
        if (!this.#sources.delete(source)) return;
        // No audio arrived in time to follow the last source.
        if (this.#sources.size === 0) this.#runDry();
      };
    }
  }

  #runDry(): void {
    this.#anchorPosition = this.#timeline.endSeconds;
    if (this.#hasAll) {
      this.#finish();
      return;
    }
    this.#enter("waiting");
    if (this.#hasUnderrun || this.#timeline.endSeconds === 0) return;
    this.#hasUnderrun = true;
    this.#emit("underrun", { positionSeconds: this.#anchorPosition });
  }

  #finish(): void {
    this.#enter("ended");
    this.#emit("ended", { durationSeconds: this.#timeline.endSeconds });
  }

  #stopSources(): void {
    for (const source of this.#sources) {
      source.onended = null;
      source.stop();
      source.disconnect();
    }
    this.#sources.clear();
  }

  #enter(state: PlayerState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#emit("state", { state });
  }

  #emit<Name extends keyof PlayerEvents>(name: Name, event: PlayerEvents[Name]): void {
    const listeners: Set<Listener<Name>> = this.#listeners[name];
    for (const listener of listeners) listener(event);
  }
}

function bufferOf(context: AudioContextLike, wav: Uint8Array): AudioBufferLike {
  const header = parseWavHeader(wav, wav.length);
  if (header === null || header.format !== "pcm" || header.bitsPerSample !== 16 || header.channels !== 1) {
    throw new RangeError("each sentence must be a WAV of 16-bit mono PCM");
  }
  const bytes = wav.slice(header.dataOffset, header.dataOffset + (header.dataBytes ?? wav.length));
  const samples = toFloat(new Int16Array(bytes.buffer, 0, bytes.length >> 1));
  const buffer = context.createBuffer(1, samples.length, header.sampleRateHz);
  buffer.copyToChannel(new Float32Array(samples), 0);
  return buffer;
}
