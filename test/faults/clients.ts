import { createHash, randomUUID } from "node:crypto";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { LiveResult } from "../../src/client/live-types.js";
import { DauysClient } from "../../src/client/node.js";
import { DIALOGUE } from "../client/support.js";
import { cut, joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { pace } from "../support/pace.js";
import { fileCredits, liveCredits, synthesisCredits } from "../support/prices.js";
import type { History } from "./history.js";

const MESSAGE_SAMPLES = 1_600;
const RETRY_MS = 250;
/** The pause between a client's requests, and between its sessions. */
const PAUSE_MS = 700;
/** A response that takes longer is requested again. */
const ANSWER_WITHIN_MS = 60_000;
/** After this many attempts without a response, a request counts as lost. */
const MOST_ATTEMPTS = 600;

const CLIPS: Readonly<Record<string, Int16Array>> = {
  dialogue: DIALOGUE,
  sentences: joined(
    silence(0.4),
    speech("asterisk-ru-additional/an-error-has-occured.flac"),
    silence(0.7),
    speech("kazakh-speech-commands/example_1.flac"),
    silence(1.1),
    speech("asterisk-ru-core/conf-getconfno.flac"),
    silence(0.6),
  ),
};

const TEXT = "Сәлем, әлем. Бүгін ауа райы жақсы.";
const SPOKEN = speech("asterisk-ru-core/conf-getconfno.flac");
const SPEECH = { body: JSON.stringify({ text: TEXT, nfe: 4 }), credits: synthesisCredits([...TEXT].length) };

interface Work {
  readonly path: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly credits: number;
  /** Returns the part of the response that must be the same in every run. */
  readonly essence: (body: Buffer) => string | Buffer;
}

const WORKS: Readonly<Record<string, Work>> = {
  speech: { path: "/v1/tts", ...SPEECH, essence: (body) => body },
  "streamed speech": { path: "/v1/tts/stream", ...SPEECH, essence: (body) => body },
  file: {
    path: "/v1/transcribe",
    body: new Uint8Array(writeWav(SPOKEN, RATE_HZ)),
    credits: fileCredits(SPOKEN.length, RATE_HZ),
    essence: (body) => (JSON.parse(body.toString()) as { text: string }).text,
  },
};

/** Clients of a fleet, which work until they are ended and record everything that they see. */
export class Clients {
  readonly #url: string;
  readonly #key: string;
  readonly #history: History;
  readonly #working: Promise<void>[] = [];
  #isOver = false;
  #count = 0;

  constructor(fleet: { readonly url: string; readonly key: string }, history: History) {
    this.#url = fleet.url;
    this.#key = fleet.key;
    this.#history = history;
  }

  /** Records the results of every kind of work in an undisturbed fleet. @throws if one fails */
  async recordReferences(): Promise<void> {
    for (const [name, work] of Object.entries(WORKS)) {
      const got = await this.#ask(work, `reference-${name}-${randomUUID()}`);
      if (got.status !== 200)
        throw new Error(`the undisturbed fleet answered ${name} with ${got.status}: ${got.detail}`);
      const { digest, chargedId } = got;
      this.#history.add({ type: "reference response", work: name, digest, credits: work.credits, chargedId });
    }
    for (const [clip, pcm] of Object.entries(CLIPS)) {
      const finals: string[] = [];
      const { sessionIds: ids } = await this.#speak(pcm, (result) => {
        if (result.type === "final") finals.push(result.text);
      });
      if (finals.length < 2)
        throw new Error(`the undisturbed fleet heard ${finals.length} utterances of ${clip}`);
      this.#history.add({ type: "reference finals", clip, finals, ids });
    }
  }

  /** @param sessions number of live sessions that speak at the same time, each in real time */
  start(sessions: number): void {
    for (const name of Object.keys(WORKS)) this.#working.push(this.#repeat(() => this.#request(name)));
    const clips = Object.keys(CLIPS);
    for (let nth = 0; nth < sessions; nth++)
      this.#working.push(this.#repeat(() => this.#listen(clips[nth % clips.length]!)));
  }

  /** Settles once every open request is answered and every session has ended. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#working);
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await work();
      await pace(PAUSE_MS);
    }
  }

  async #request(name: string): Promise<void> {
    const work = WORKS[name]!;
    const key = `${name.replace(" ", "-")}-${randomUUID()}`;
    this.#history.add({ type: "request", key, work: name });
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const got = await this.#ask(work, key);
      if (got.status === 200) {
        const { chargedId, digest, isReplay } = got;
        this.#history.add({ type: "response", key, chargedId, digest, isReplay });
        return;
      }
      this.#history.add({ type: "attempt", key, status: got.status, detail: got.detail });
      await pace(RETRY_MS);
    }
  }

  async #ask({ path, body, essence }: Work, key: string) {
    const failed = { chargedId: "", digest: "", isReplay: false };
    try {
      const answer = await fetch(this.#url + path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${this.#key}`,
          "idempotency-key": key,
          "content-type": typeof body === "string" ? "application/json" : "application/octet-stream",
        },
        body,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (answer.status !== 200)
        return { ...failed, status: answer.status, detail: bytes.toString().slice(0, 200) };
      return {
        status: answer.status,
        detail: "",
        chargedId: answer.headers.get("original-request") ?? answer.headers.get("x-request-id") ?? "",
        digest: createHash("sha256").update(essence(bytes)).digest("hex").slice(0, 16),
        isReplay: answer.headers.get("idempotent-replayed") === "true",
      };
    } catch (error) {
      return { ...failed, status: null, detail: causesOf(error) };
    }
  }

  async #listen(clip: string): Promise<void> {
    const session = `live-${this.#count++}`;
    const pcm = CLIPS[clip]!;
    const sentCredits = liveCredits(pcm.length, RATE_HZ);
    this.#history.add({ type: "live", session, clip });
    try {
      const done = await this.#speak(
        pcm,
        (result) => {
          const { utterance, text } = result;
          if (result.type === "final") this.#history.add({ type: "live final", session, utterance, text });
          else this.#history.add({ type: "live partial", session, utterance, text, stable: result.stable });
        },
        session,
      );
      const { creditsCharged: credits, unsettledConnections: brokenConnections } = done;
      this.#history.add({ type: "live done", session, credits, brokenConnections, sentCredits });
    } catch (error) {
      this.#history.add({ type: "live failed", session, sentCredits, detail: causesOf(error) });
    }
  }

  /** Sends speech in real time. @param session its name in the history; null for a reference */
  async #speak(pcm: Int16Array, hear: (result: LiveResult) => void, session: string | null = null) {
    const live = new DauysClient({ baseUrl: this.#url, apiKey: this.#key }).live({
      onStatus: (status) => {
        if (session === null) return;
        if (status.type === "ready")
          this.#history.add({ type: "live connection", session, id: status.sessionId });
        if (status.type === "reconnecting")
          this.#history.add({ type: "live reconnecting", session, detail: causesOf(status.cause) });
      },
    });
    const heard = (async () => {
      for await (const result of live) hear(result);
    })();
    heard.catch(() => {});
    for (const samples of cut(pcm, [MESSAGE_SAMPLES])) {
      await live.send(samples);
      await pace((1_000 * MESSAGE_SAMPLES) / RATE_HZ);
    }
    const done = await live.close();
    await heard;
    return done;
  }
}

function causesOf(error: unknown): string {
  const causes: string[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 4; cause = cause.cause)
    causes.push(cause.message);
  return causes.join(": ");
}
