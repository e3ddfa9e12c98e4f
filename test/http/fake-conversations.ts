import { readFile } from "node:fs/promises";
import { SpeakSession } from "../../actors/synthesis/speak-session.js";
import { readableTranscript } from "../../actors/transcription/readable-transcript.js";
import { ServiceError } from "../../core/domain/errors.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { readWords } from "../../core/domain/text/display/reading.js";
import type { UsagePeriod } from "../../core/domain/usage/period.js";
import type { AccountReports, UsageSum } from "../../core/ports/account-reports.js";
import { systemClock } from "../../core/ports/clock.js";
import type { Credits } from "../../core/ports/console-store.js";
import type {
  Conversations,
  FileWishes,
  LiveConversation,
  LiveSink,
  LiveWishes,
  StopReason,
} from "../../core/ports/conversations.js";
import type { Departure } from "../../core/ports/front.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import type { TranscriptReader } from "../../core/ports/transcript-reader.js";
import { CATALOG } from "../support/catalog.js";
import { settled } from "../support/deferred.js";
import { FreeMeter } from "../support/free-meter.js";
import { pace } from "../support/pace.js";
import { synthesisCredits } from "../support/prices.js";
import { SILENT } from "../support/silent-log.js";
import { ToneSynthesizer } from "../support/tone-synthesizer.js";

export const GOOD_KEY = `sk-svc-${"0a".repeat(24)}`;
export const DOWN_KEY = `sk-svc-${"dd".repeat(24)}`;

/** Makes text readable by rules, without the model: digits, capitals and the final punctuation mark. */
const UNPUNCTUATED: TranscriptReader = { read: async (task) => readWords(task, null) };

/** Work in these tests is not charged to anyone. */
export const NOBODY: Departure = { leaving: () => {}, held: () => {} };

/** Keys that a test defines. Counts the look-ups. */
export class FakeKeys implements KeyStore {
  lookUps = 0;

  async find(rawKey: string): Promise<KeyIdentity | null> {
    this.lookUps++;
    if (rawKey === DOWN_KEY) throw new ServiceError("AUTH_UNAVAILABLE", "the key store cannot be asked");
    return rawKey === GOOD_KEY ? { keyId: "key_1", organizationId: "org_1", tier: "paid" } : null;
  }
}

/** An account that a test defines. Counts the queries. */
export class FakeReports implements AccountReports {
  /** The queried organizations, with days where relevant. */
  readonly asked: string[] = [];
  /** The result of the next query. */
  next: Promise<unknown> = Promise.resolve();

  async key(): Promise<null> {
    return null;
  }

  async credits(organizationId: string): Promise<Credits> {
    this.asked.push(organizationId);
    await this.next;
    return { balance: 24_990, held: 15, available: 24_975, tier: "free", lastTopUp: null };
  }

  async usage(organizationId: string, { from, to }: UsagePeriod): Promise<UsageSum[]> {
    this.asked.push(`${organizationId} ${from} ${to}`);
    await this.next;
    return [
      { day: from, kind: "synthesis", endpoint: "/v1/tts", requests: 2, quantity: 25, credits: 10 },
      { day: to, kind: "live", endpoint: null, requests: 1, quantity: 1.5, credits: 9 },
    ];
  }
}

/**
 * Conversations for tests of the transport alone. Each `.`-separated part of the text is a sentence that
 * determines what happens: `fail` throws, `slow` waits, `halves` arrives in two parts with a wait between
 * them, and `long` is a hundred seconds of samples.
 */
export class FakeConversations implements Conversations {
  catalog = CATALOG;
  /** The options of the last file's transcription. */
  wishes: FileWishes | null = null;
  /** The options of the last live client. */
  options: LiveWishes | null = null;
  readonly stops: StopReason[] = [];
  readonly uploads: { readonly path: string; readonly bytes: Buffer }[] = [];
  /** Behaviour of the next transcription. */
  nextTranscription: "answer" | "wait" | ServiceError = "answer";
  /** The progress events that the next transcription sends before its result. */
  nextShares: readonly number[] = [];
  /** The error that every new request gets. */
  creditRefusal: ServiceError | null = null;
  /** The reported wait for the model. */
  modelWaitMs = 0;
  /** The next synthesis awaits this if its text requests it; null for a short wait. */
  pause: Promise<unknown> | null = null;
  /** The calls of `charge` and `complete`, in order. */
  readonly charges: string[] = [];
  requireCredit: Conversations["requireCredit"] = async () => {
    if (this.creditRefusal !== null) throw this.creditRefusal;
  };
  /** Files that are being received. */
  expectedFiles = 0;
  /** Whether each expected file was transcribed. */
  readonly transcribed: boolean[] = [];
  expectFile: Conversations["expectFile"] = () => {
    this.expectedFiles++;
    return (isTranscribed) => {
      this.expectedFiles--;
      this.transcribed.push(isTranscribed);
    };
  };
  live: Conversations["live"] = (_caller, options, sink) => {
    this.options = options;
    return echoLive(sink);
  };

  /** Speaks the pieces of speaking sessions, which are real sessions. */
  readonly synthesizer = new ToneSynthesizer();
  readonly meter = new FreeMeter();
  speaking: Conversations["speaking"] = (_caller, wishes, sink) =>
    new SpeakSession({
      model: this.catalog.speaking.require(wishes.model),
      wishes,
      synthesis: { synthesizer: this.synthesizer, clock: systemClock },
      meterOf: () => this.meter.openSpeech(),
      priceOf: synthesisCredits,
      sink,
      log: SILENT,
    });

  synthesis: Conversations["synthesis"] = async (caller, request) => {
    caller.onModelWait?.(this.modelWaitMs);
    const model = this.catalog.speaking.require(request.model);
    if (request.voice !== null && model.voices.every(({ name }) => name !== request.voice))
      throw new ServiceError("UNKNOWN_VOICE", "no voice");
    const { pause } = this;
    const wait = () => pause ?? pace(150);
    let isStopped = false;
    return {
      modelId: model.name,
      billedCharacters: countCodePoints(request.text),
      creditsCharged: 3,
      sampleRateHz: 24_000,
      mostHeldBytes: request.text.includes("long") ? 5_000_000 : 1_000,
      async *chunks() {
        for (const [index, sentence] of request.text.split(".").entries()) {
          if (isStopped) throw new ServiceError("CANCELLED", "stopped");
          if (sentence.includes("fail")) throw new ServiceError("WORKER_LOST", "the worker is gone");
          if (sentence.includes("slow")) await wait();
          if (sentence.includes("halves")) {
            yield { pcm: new Int16Array(240).fill(7), sampleRateHz: 24_000, endsSentence: false };
            await wait();
            yield { pcm: new Int16Array(240).fill(8), sampleRateHz: 24_000, endsSentence: false };
            yield { pcm: new Int16Array(0), sampleRateHz: 24_000, endsSentence: true };
            continue;
          }
          const pcm = new Int16Array(sentence.includes("long") ? 2_400_000 : 240).fill(index + 1);
          yield { pcm, sampleRateHz: 24_000, endsSentence: true };
        }
      },
      charge: async () => void this.charges.push("charge"),
      sentence: NOBODY,
      answer: NOBODY,
      complete: () => void this.charges.push("complete"),
      stop: (reason) => {
        isStopped = true;
        this.stops.push(reason);
      },
    };
  };

  /** Fails the last transcription. */
  fail: (error: ServiceError) => void = () => {};

  transcription: Conversations["transcription"] = (caller, path, wishes) => {
    caller.onModelWait?.(this.modelWaitMs);
    this.wishes = wishes;
    let refuse: (error: unknown) => void = () => {};
    const stopped = new Promise<never>((_resolve, reject) => {
      refuse = reject;
    });
    stopped.catch(() => {});
    this.fail = refuse;
    const transcribe = async () => {
      this.uploads.push({ path, bytes: await readFile(path) });
      for (const share of this.nextShares) {
        wishes.onProgress?.(share);
        // By now the event has been written.
        await settled();
      }
      if (this.nextTranscription instanceof ServiceError) throw this.nextTranscription;
      if (this.nextTranscription === "wait") await stopped;
      const word = (text: string, start: number) => ({ word: text, start, end: start + 0.4 });
      const transcript = {
        segments: [
          {
            text: "сәлем әлем",
            startSeconds: 0.1,
            endSeconds: 1,
            words: [word("сәлем", 0.1), word("әлем", 0.6)],
          },
          { text: "привет", startSeconds: 2, endSeconds: 2.4, words: [word("привет", 2)] },
        ],
        sampleCountIn: 24_001,
        sampleRateInHz: 8_000,
        modelId: wishes.model,
        processingSeconds: 0.5,
        creditsCharged: 8,
      };
      const { reading = null } = wishes;
      if (reading === null) return transcript;
      return { ...transcript, ...(await readableTranscript(transcript, reading, UNPUNCTUATED)) };
    };
    return {
      transcript: Promise.race([transcribe(), stopped]),
      charge: async () => void this.charges.push("charge"),
      answer: NOBODY,
      complete: () => void this.charges.push("complete"),
      stop: (reason) => {
        this.stops.push(reason);
        refuse(new ServiceError("CANCELLED", "stopped"));
      },
    };
  };
}

/** Reports the calls that it receives as errors, so that a test can read them on the socket. */
function echoLive(sink: LiveSink): LiveConversation {
  let bytesSeen = 0;
  const say = (detail: string) => sink.send({ type: "error", code: "echo", detail, retryable: false });
  return {
    audio(bytes) {
      bytesSeen += bytes.length;
    },
    finalize: () => say(`finalize ${bytesSeen}`),
    close() {
      sink.send({ type: "done", audio_seconds: bytesSeen / 32_000, credits_charged: 0 });
      sink.close(1000, "done");
    },
    keepalive: () => say("keepalive"),
    badMessage: (detail) => say(`bad ${detail}`),
    disconnected() {},
    unauthorized(detail) {
      sink.send({ type: "error", code: "unauthorized", detail, retryable: false });
      sink.close(4401, "unauthorized");
    },
    goingAway(deadlineSeconds) {
      sink.send({ type: "going_away", deadline_s: deadlineSeconds });
      sink.close(1012, "going away");
    },
  };
}
