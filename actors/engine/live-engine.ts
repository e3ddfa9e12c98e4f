import { PcmRing } from "../../native/ring/pcm-ring.js";
import { type FromLiveWorker, LIVE_CELL, type ToLiveWorker } from "../../native/worker/protocol.js";
import { SpeechError } from "../../src/domain/errors.js";
import type { Log } from "../../src/observe/log.js";
import type { Clock } from "../../src/ports/clock.js";
import type { LiveDecoder, LiveEvent, LiveOptions, LiveStream } from "../../src/ports/live-decoder.js";
import { type Child, Supervisor } from "../kernel/supervisor.js";

/** What the engine needs of a live worker. */
export interface LiveWorker extends Child {
  post(message: ToLiveWorker): void;
}

export type LiveWorkerAnswer = Extract<FromLiveWorker, { readonly session: number }>;

export interface LiveEngineOptions {
  readonly workerCount: number;
  readonly startWorker: (
    cells: SharedArrayBuffer,
    onMessage: (message: LiveWorkerAnswer) => void,
  ) => Promise<LiveWorker>;
  /** Samples of left context a replay needs before the point it resumes at. */
  readonly contextSamples: number;
  readonly sampleRateHz: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Holds the longest utterance, the replay context and a full backlog: 131 s at 16 kHz, touched only as it fills. */
const RING_SAMPLES = 2 ** 21;
const BACKLOG_SECONDS = 60;
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 30_000;

/** One worker with the sessions that are on it. */
interface Lane {
  readonly supervisor: Supervisor<LiveWorker>;
  readonly bell: Int32Array;
  readonly attachments: Set<Attachment>;
  isLost: boolean;
}

/** Owns the live workers; sessions stay on their lane and survive its worker. */
export class LiveEngine implements LiveDecoder {
  readonly #options: LiveEngineOptions;
  readonly #lanes: Lane[] = [];
  readonly #attachments = new Map<number, Attachment>();
  #nextSession = 0;
  #isStopping = false;

  constructor(options: LiveEngineOptions) {
    this.#options = options;
    for (let index = 0; index < options.workerCount; index++) this.#lanes.push(this.#makeLane(index));
  }

  get sessionCount(): number {
    return this.#attachments.size;
  }

  async start(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.start()));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.stop()));
  }

  /** @throws {SpeechError} `ENGINE_BUSY` when no worker is left to serve, `SHUTTING_DOWN` after `stop` */
  open(options: LiveOptions, onEvent: (event: LiveEvent) => void): LiveStream {
    if (this.#isStopping) throw new SpeechError("SHUTTING_DOWN", "the service is stopping");
    const lanes = this.#lanes.filter((lane) => !lane.isLost);
    const lane = lanes.sort((a, b) => a.attachments.size - b.attachments.size)[0];
    if (lane === undefined) throw new SpeechError("ENGINE_BUSY", "live transcription is not available");
    const attachment = new Attachment({
      session: this.#nextSession++,
      options,
      onEvent,
      contextSamples: this.#options.contextSamples,
      backlogSamples: BACKLOG_SECONDS * this.#options.sampleRateHz,
      lane,
      onRelease: () => this.#release(attachment, lane),
    });
    lane.attachments.add(attachment);
    this.#attachments.set(attachment.session, attachment);
    const worker = lane.supervisor.child;
    // The caller must have its stream in hand before the first event comes.
    if (worker !== null) queueMicrotask(() => attachment.attach(worker));
    return attachment;
  }

  /** Makes a worker fail in the middle of its work. For fault tests: workers obey only when started to. */
  injectFault(): void {
    for (const lane of this.#lanes) lane.supervisor.child?.post({ type: "fault" });
  }

  #makeLane(index: number): Lane {
    const { startWorker, clock, log } = this.#options;
    const cells = new SharedArrayBuffer(LIVE_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const attachments = new Set<Attachment>();
    const id = `live-worker-${index}`;
    const supervisor = new Supervisor<LiveWorker>(
      {
        id,
        start: () =>
          startWorker(cells, (message) => this.#attachments.get(message.session)?.onAnswer(message)),
        maxRestarts: MAX_RESTARTS,
        windowMs: RESTART_WINDOW_MS,
        onUp: (worker) => {
          for (const attachment of attachments) attachment.attach(worker);
        },
        onDown: (error) =>
          log.error({ worker: id, sessions: attachments.size, err: error }, "live worker ended"),
        onGiveUp: (error) => {
          log.fatal({ worker: id, err: error }, "live worker does not come back");
          lane.isLost = true;
          for (const attachment of [...attachments]) attachment.fail("live transcription is not available");
        },
      },
      clock.nowMs,
    );
    const lane: Lane = { supervisor, bell: new Int32Array(cells), attachments, isLost: false };
    return lane;
  }

  #release(attachment: Attachment, lane: Lane): void {
    lane.attachments.delete(attachment);
    this.#attachments.delete(attachment.session);
    lane.supervisor.child?.post({ type: "close", session: attachment.session });
  }
}

interface AttachmentParts {
  readonly session: number;
  readonly options: LiveOptions;
  readonly onEvent: (event: LiveEvent) => void;
  readonly contextSamples: number;
  readonly backlogSamples: number;
  readonly lane: Lane;
  readonly onRelease: () => void;
}

/** A session's ring and its place in the stream, kept on this side so that any worker can go on from it. */
class Attachment implements LiveStream {
  readonly session: number;
  readonly #parts: AttachmentParts;
  readonly #ring = PcmRing.create(RING_SAMPLES);
  #epoch = 0;
  #writtenSamples = 0;
  #resumeSample = 0;
  #nextUtterance = 0;
  #finalizeMarks: number[] = [];
  #finishMark: number | null = null;
  #isReady = false;
  #isReleased = false;

  constructor(parts: AttachmentParts) {
    this.#parts = parts;
    this.session = parts.session;
  }

  write(samples: Int16Array): number {
    if (this.#isReleased || this.#finishMark !== null) return 0;
    const unreadSamples = ((this.#writtenSamples >>> 0) - this.#ring.cursor) | 0;
    const room = Math.max(0, this.#parts.backlogSamples - Math.max(0, unreadSamples));
    const taken = this.#ring.write(room < samples.length ? samples.subarray(0, room) : samples);
    this.#writtenSamples += taken;
    this.#wakeWorker();
    return taken;
  }

  finalize(): void {
    if (this.#isReleased) return;
    const atSample = this.#writtenSamples;
    this.#finalizeMarks.push(atSample);
    this.#worker?.post({ type: "finalize", session: this.session, atSample });
    this.#wakeWorker();
  }

  finish(): void {
    if (this.#isReleased || this.#finishMark !== null) return;
    this.#finishMark = this.#writtenSamples;
    this.#worker?.post({ type: "finish", session: this.session, atSample: this.#finishMark });
    this.#wakeWorker();
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.onRelease();
  }

  /** (Re)joins a worker: audio since the last final is decoded again, answers of earlier attachments are dropped. */
  attach(worker: LiveWorker): void {
    if (this.#isReleased) return;
    this.#epoch++;
    worker.post({
      type: "open",
      session: this.session,
      epoch: this.#epoch,
      ring: this.#ring.buffer,
      resumeSample: this.#resumeSample,
      nextUtterance: this.#nextUtterance,
      endOfUtteranceMs: this.#parts.options.endOfUtteranceMs,
      wantsPartials: this.#parts.options.wantsPartials,
    });
    for (const atSample of this.#finalizeMarks)
      worker.post({ type: "finalize", session: this.session, atSample });
    if (this.#finishMark !== null) {
      worker.post({ type: "finish", session: this.session, atSample: this.#finishMark });
    }
    this.#wakeWorker();
    if (!this.#isReady) {
      this.#isReady = true;
      this.#parts.onEvent({ type: "ready" });
    }
  }

  fail(message: string): void {
    if (this.#isReleased) return;
    this.#parts.onEvent({ type: "failed", message });
  }

  onAnswer(answer: LiveWorkerAnswer): void {
    // An answer of an earlier attachment speaks of audio that is being decoded again.
    if (this.#isReleased || answer.epoch !== this.#epoch) return;
    switch (answer.type) {
      case "partial": {
        const { utterance, text, startSample, endSample } = answer;
        this.#parts.onEvent({ type: "partial", utterance, text, startSample, endSample });
        return;
      }
      case "final": {
        this.#advance(answer.resumeSample);
        if (answer.text === null) return;
        this.#nextUtterance = answer.utterance + 1;
        const { utterance, text, startSample, endSample, words } = answer;
        this.#parts.onEvent({ type: "final", utterance, text, startSample, endSample, words });
        return;
      }
      case "idle":
        this.#advance(answer.resumeSample);
        return;
      case "finished":
        this.#parts.onEvent({ type: "finished" });
        return;
    }
  }

  get #worker(): LiveWorker | null {
    return this.#epoch === 0 ? null : this.#parts.lane.supervisor.child;
  }

  #advance(resumeSample: number): void {
    this.#resumeSample = resumeSample;
    this.#finalizeMarks = this.#finalizeMarks.filter((atSample) => atSample > resumeSample);
    const releaseSample = resumeSample - this.#parts.contextSamples;
    if (releaseSample > 0) this.#ring.release(releaseSample);
  }

  #wakeWorker(): void {
    Atomics.add(this.#parts.lane.bell, LIVE_CELL.bell, 1);
    Atomics.notify(this.#parts.lane.bell, LIVE_CELL.bell);
  }
}
