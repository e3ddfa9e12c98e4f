import { creditsFor, SYNTHESIS_TARIFF } from "../../../core/domain/usage/tariff.js";
import { type Call, failedCall, runSchedule } from "./arrivals.js";
import { call, creditsOf } from "./http-call.js";
import type { LevelContext } from "./level.js";
import type { LevelResult } from "./result.js";

/** All protocols send 16-bit samples at this rate. */
const RATE_HZ = 24_000;
/** A sample below this (-60 dB of full scale) counts as silence. */
const AUDIBLE = 32;
const WAV_HEADER_BYTES = 44;

/** Sentences of different lengths, without digits, which services read differently. */
const TEXTS: readonly string[] = [
  "Сәлеметсіз бе!",
  "Біз ертең достарымызбен бірге көлге барамыз.",
  "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді. Демалыс күні жабық.",
];

/** How to request speech for a text, and where the samples start in each frame of the response. */
interface SpeechWire {
  path(context: LevelContext): string;
  body(text: string, context: LevelContext): object;
  readonly authorization: "Bearer" | "Token";
  /** Whether the response is a sequence of WAV files, each preceded by its length. */
  readonly isFramed: boolean;
}

const SPEECH_WIRES: Readonly<Record<LevelContext["wire"], SpeechWire>> = {
  dauys: {
    path: () => "/v1/tts/stream?frames=chunks",
    body: (text, { model, voice }) => ({ text, ...given({ model, voice }) }),
    authorization: "Bearer",
    isFramed: true,
  },
  openai: {
    path: () => "/v1/audio/speech",
    body: (input, { model, voice }) => ({
      model: model ?? "tts-1",
      input,
      response_format: "pcm",
      ...given({ voice }),
    }),
    authorization: "Bearer",
    isFramed: false,
  },
  deepgram: {
    path: ({ model, voice }) => {
      const name = voice ?? model;
      return `/v1/speak?encoding=linear16&sample_rate=${RATE_HZ}&container=none${name === null ? "" : `&model=${encodeURIComponent(name)}`}`;
    },
    body: (text) => ({ text }),
    authorization: "Token",
    isFramed: false,
  },
};

function given(members: Readonly<Record<string, string | null>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** Requests speech `rate` times per second. */
export function runSpeechLevel(context: LevelContext, rate: number, seconds: number): Promise<LevelResult> {
  return runSchedule(context, (nth) => speechCall(context, textOf(nth)), { rate, seconds });
}

function textOf(nth: number): string {
  return TEXTS[nth % TEXTS.length]!;
}

export function speechEstimate(requests: number): number {
  let credits = 0;
  for (let nth = 0; nth < requests; nth++) credits += priceOf(textOf(nth));
  return credits;
}

function priceOf(text: string): number {
  return creditsFor({ units: Array.from(text).length, unitsPerSecond: 1 }, SYNTHESIS_TARIFF);
}

function speechCall(context: LevelContext, text: string): Call {
  const wire = SPEECH_WIRES[context.wire];
  return {
    estimate: priceOf(text),
    run: async (dueAtMs) => {
      const player = new Player(wire.isFramed);
      const leftAtMs = performance.now();
      try {
        const { headers, endedAtMs } = await call({
          method: "POST",
          url: context.url + wire.path(context),
          headers: {
            Authorization: `${wire.authorization} ${context.key}`,
            "Content-Type": "application/json",
          },
          body: JSON.stringify(wire.body(text, context)),
          signal: context.signal,
          onBytes: (bytes) => player.receive(bytes, performance.now()),
        });
        if (player.firstSoundAtMs === null) return failedCall("the response has no sound");
        const main = player.firstSoundAtMs - dueAtMs;
        return {
          values: {
            first_sound: [main],
            first_audio: [player.firstAudioAtMs! - dueAtMs],
            real_time_factor: [(endedAtMs - leftAtMs) / 1_000 / player.seconds],
          },
          ...{ words: [], missed: 0, sentences: 1, underruns: player.underruns, failure: null },
          ...{ charged: creditsOf(headers), main },
        };
      } catch (error) {
        return failedCall(error instanceof Error ? error.message : String(error));
      }
    },
  };
}

/** Plays a response from its first sample on, and counts how often it runs dry. */
export class Player {
  firstAudioAtMs: number | null = null;
  firstSoundAtMs: number | null = null;
  underruns = 0;
  readonly #isFramed: boolean;
  #pending: Buffer = Buffer.alloc(0);
  #samples = 0;
  #pausedMs = 0;

  constructor(isFramed: boolean) {
    this.#isFramed = isFramed;
  }

  get seconds(): number {
    return this.#samples / RATE_HZ;
  }

  receive(bytes: Uint8Array, atMs: number): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    if (!this.#isFramed) {
      const whole = this.#pending.length & ~1;
      this.#play(this.#pending.subarray(0, whole), atMs);
      this.#pending = this.#pending.subarray(whole);
      return;
    }
    while (this.#pending.length >= 4) {
      const end = 4 + this.#pending.readUInt32BE(0);
      if (this.#pending.length < end) return;
      this.#play(this.#pending.subarray(4 + WAV_HEADER_BYTES, end), atMs);
      this.#pending = this.#pending.subarray(end);
    }
  }

  #play(pcm: Buffer, atMs: number): void {
    if (pcm.length === 0) return;
    this.firstAudioAtMs ??= atMs;
    const dryAtMs = this.firstAudioAtMs + this.#pausedMs + this.seconds * 1_000;
    if (this.#samples > 0 && atMs > dryAtMs) {
      this.underruns++;
      this.#pausedMs += atMs - dryAtMs;
    }
    this.#samples += pcm.length / 2;
    if (this.firstSoundAtMs !== null) return;
    for (let i = 0; i + 1 < pcm.length; i += 2) {
      if (Math.abs(pcm.readInt16LE(i)) < AUDIBLE) continue;
      this.firstSoundAtMs = atMs;
      return;
    }
  }
}
