import { LiveTranscript } from "./live-transcript.js";
import type { LiveFinal, LiveMessage, LivePartial, LiveResult } from "./live-types.js";

type DoneMessage = Extract<LiveMessage, { readonly type: "done" }>;

/** The transcripts of a session's channels, which share a socket. Mono audio has one channel. */
export class LiveChannels {
  readonly #transcripts: readonly LiveTranscript[];

  constructor(count: number) {
    this.#transcripts = Array.from({ length: count }, () => new LiveTranscript());
  }

  get offsetSamples(): number {
    return this.#transcripts[0]!.offsetSamples;
  }

  /** Start of the next socket's audio, early enough for every channel. */
  get resumeSample(): number {
    return Math.min(...this.#transcripts.map((own) => own.resumeSample));
  }

  /** `displayEnd` of each channel; see `LiveTranscript`. */
  get displayEnds(): readonly string[] {
    return this.#transcripts.map((own) => own.displayEnd);
  }

  startSocket(offsetSamples: number): void {
    for (const own of this.#transcripts) own.startSocket(offsetSamples);
  }

  accept(message: LivePartial | LiveFinal): readonly LiveResult[] {
    return this.#transcripts[message.channel ?? 0]?.accept(message) ?? [];
  }

  serviceStopping(): void {
    for (const own of this.#transcripts) own.serviceStopping();
  }

  settle(done: DoneMessage, rules: Parameters<LiveTranscript["settle"]>[1]): readonly LiveResult[] {
    return this.#transcripts.flatMap((own, channel) => {
      const { channels, ...all } = done;
      return own.settle({ ...all, ...channels?.[channel] }, rules);
    });
  }

  releaseHeld(): readonly LiveResult[] {
    return this.#transcripts.flatMap((own) => own.releaseHeld());
  }
}
