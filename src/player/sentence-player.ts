import { toFloat } from "../../core/domain/audio/pcm.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import type { WordTime } from "../../core/domain/synthesis/word-time.js";
import { Timeline } from "./timeline.js";
import type { AudioBufferLike, AudioContextLike, BufferSourceLike } from "./web-audio.js";

export type { AudioContextLike } from "./web-audio.js";

/** `waiting`: what has arrived is played, and more is to come; `ended`: all is played. */
export type PlayerState = "playing" | "paused" | "waiting" | "ended";

export interface PlayerEvents {
  /** What has arrived is played to its end before the rest is there, at this second of the speech. */
  underrun: { readonly positionSeconds: number };
  /** The rest came after an underrun. */
  recovered: { readonly positionSeconds: number };
  state: { readonly state: PlayerState };
  ended: { readonly durationSeconds: number };
}

export interface PlayerOptions {
  /** Made by the page after a click, as browsers want it; one of 24 kHz plays the service's sound without resampling. */
  readonly context: AudioContextLike;
  /** Where the sound goes; the context's destination when absent. */
  readonly destination?: object | undefined;
  /** Seconds between the decision to play and the sound, so that nothing is started late; 0.05 when absent. */
  readonly leadSeconds?: number | undefined;
}

type Listener<Name extends keyof PlayerEvents> = (event: PlayerEvents[Name]) => void;

const DEFAULT_LEAD_SECONDS = 0.05;

/**
 * Plays sentences as they arrive, one after another without a gap: each is started on the clock of the sound card at
 * the very sample where the one before it ends. It begins to play with the first sentence.
 */
export class SentencePlayer {
  readonly #context: AudioContextLike;
  readonly #destination: object;
  readonly #leadSeconds: number;
  readonly #timeline = new Timeline<AudioBufferLike>();
  readonly #words: WordTime[] = [];
  readonly #sources = new Set<BufferSourceLike>();
  readonly #listeners: { [Name in keyof PlayerEvents]: Set<Listener<Name>> } = {
    underrun: new Set(),
    recovered: new Set(),
    state: new Set(),
    ended: new Set(),
  };
  #state: PlayerState = "waiting";
  /** Position of the speech at the context's time `#anchorTime`, while it plays; else where it stands. */
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

  /** Seconds of the speech that were played. */
  get positionSeconds(): number {
    if (this.#state !== "playing") return this.#anchorPosition;
    const playedSeconds = Math.max(0, this.#context.currentTime - this.#anchorTime);
    return this.#timeline.clamp(this.#anchorPosition + playedSeconds);
  }

  /** Seconds of the speech that have arrived. */
  get arrivedSeconds(): number {
    return this.#timeline.endSeconds;
  }

  /** Words that have arrived, times from the beginning of the speech. */
  get words(): readonly WordTime[] {
    return this.#words;
  }

  /**
   * The word at the position: it stays the current one in the pause behind it, until the next one begins. Null before the
   * first, after the end, and without words. To be asked for as often as it is shown.
   */
  get currentWord(): WordTime | null {
    if (this.#state === "ended") return null;
    const position = this.positionSeconds;
    return this.#words.findLast(({ start }) => start <= position) ?? null;
  }

  /** Calls `listener` at each event, until the returned function is called. */
  on<Name extends keyof PlayerEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners: Set<Listener<Name>> = this.#listeners[name];
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Plays all frames of a speech as they come; settles when the last one has arrived, not when it is played. */
  async play(
    frames: AsyncIterable<{ readonly wav: Uint8Array; readonly words?: readonly WordTime[] | undefined }>,
  ): Promise<void> {
    for await (const { wav, words } of frames) this.push(wav, words);
    this.end();
  }

  /**
   * Appends a sentence: a WAV of 16-bit mono PCM.
   *
   * @param words of the sentence, times from its begin, as `speakStream` gives them with `timestamps`
   * @throws {ServiceError} `AUDIO_UNREADABLE` for what is no WAV, {RangeError} for one of another kind
   * @throws {RangeError} after `end`
   */
  push(wav: Uint8Array, words: readonly WordTime[] = []): void {
    if (this.#hasAll) throw new RangeError("push must come before end");
    const sound = bufferOf(this.#context, wav);
    const wasUnderrun = this.#hasUnderrun;
    const { startSeconds } = this.#timeline.append(sound, sound.duration);
    for (const word of words) {
      this.#words.push({ ...word, start: startSeconds + word.start, end: startSeconds + word.end });
    }
    if (this.#state === "playing") this.#startFrom(this.#timeline.endSeconds - sound.duration);
    else if (this.#state === "waiting") this.#startHere();
    if (!wasUnderrun || this.#state !== "playing") return;
    this.#hasUnderrun = false;
    this.#emit("recovered", { positionSeconds: this.#anchorPosition });
  }

  /** No more sentences come. */
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

  /** Goes on after `pause`; after the end, begins again. */
  resume(): void {
    if (this.#state === "ended") this.#anchorPosition = 0;
    if (this.#state === "paused" || this.#state === "ended") this.#startHere();
  }

  /** Goes to a second of the speech, within what has arrived. A player that is paused stays so. */
  seek(seconds: number): void {
    this.#stopSources();
    this.#anchorPosition = this.#timeline.clamp(seconds);
    if (this.#state !== "paused") this.#startHere();
  }

  /** Falls silent and takes nothing any more. */
  stop(): void {
    this.#anchorPosition = this.positionSeconds;
    this.#stopSources();
    this.#hasAll = true;
    this.#enter("ended");
  }

  /** Plays from the position where it stands, if anything is there. */
  #startHere(): void {
    if (this.#anchorPosition >= this.#timeline.endSeconds) {
      this.#runDry();
      return;
    }
    this.#anchorTime = this.#context.currentTime + this.#leadSeconds;
    this.#enter("playing");
    this.#startFrom(this.#anchorPosition);
  }

  /** Starts everything that lies ahead of a position, on the clock that plays already. */
  #startFrom(position: number): void {
    for (const { piece, offsetSeconds } of this.#timeline.from(position)) {
      const source = this.#context.createBufferSource();
      source.buffer = piece.sound;
      source.connect(this.#destination as never);
      const playedFrom = piece.startSeconds + offsetSeconds;
      const whenSeconds = this.#anchorTime + playedFrom - this.#anchorPosition;
      source.start(Math.max(0, whenSeconds), offsetSeconds);
      this.#sources.add(source);
      source.onended = () => {
        source.disconnect();
        if (!this.#sources.delete(source)) return;
        // The last one that was started is over: nothing came in time to follow it.
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
    throw new RangeError("a sentence must be a WAV of 16-bit mono PCM");
  }
  const bytes = wav.slice(header.dataOffset, header.dataOffset + (header.dataBytes ?? wav.length));
  const samples = toFloat(new Int16Array(bytes.buffer, 0, bytes.length >> 1));
  const buffer = context.createBuffer(1, samples.length, header.sampleRateHz);
  buffer.copyToChannel(new Float32Array(samples), 0);
  return buffer;
}
