import { fileURLToPath } from "node:url";
import { LimitedSpawn, type ProcessLimits } from "../../../core/child-processes/limited-spawn.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Log } from "../../../core/observe/log.js";
import type {
  DecodedSink,
  StreamDecoder,
  StreamDecoders,
  StreamedForm,
} from "../../../core/ports/stream-decoder.js";
import { FRAME, type Frame, FrameReader, frameOf } from "./decoder-frames.js";

const PROGRAM = fileURLToPath(new URL("./live-process.js", import.meta.url));
/** Without guard regions for WebAssembly, Node fits into a limited address space. */
const NODE_OPTIONS = ["--disable-wasm-trap-handler", "--max-old-space-size=64", "--max-semi-space-size=1"];
/** Limits of a decoder process. Four hours of stereo take about two minutes of CPU time. */
const LIMITS: ProcessLimits = {
  cpuSeconds: 900,
  memoryBytes: 2 ** 31,
  fileBytes: 0,
  // Normal priority, unlike for files: a speaker waits for the text, and decoding takes 0.3 % of a core.
  niceness: 0,
};
/** Size of two seconds of samples. */
const LONGEST_FRAME_BYTES = 1 << 16;
/** Most encoded audio that waits for a decoder: about a minute at the highest bit rate. */
const MOST_WAITING_BYTES = 4 << 20;
/** A decoder that decodes nothing for this long is stuck; a message normally takes milliseconds. */
const STUCK_MS = 15_000;
/** Errors that a decoder may report. Decoders are not trusted. */
const REPORTED = ["UNSUPPORTED_FORMAT", "AUDIO_UNREADABLE"] as const;
const LONGEST_REPORT = 300;

export type DecoderFailure = "busy" | "unreadable" | "lost" | "stuck" | "too_fast";

interface LiveDecodersObserver {
  running(count: number): void;
  failed(reason: DecoderFailure): void;
}

export interface LiveDecodersOptions {
  /** Most concurrent decoders. An organization may use half of them. */
  readonly limit: number;
  readonly log: Log;
  readonly observer?: LiveDecodersObserver;
  /** Entry file of a different decoder; for tests. */
  readonly program?: string;
}

/** Decodes WebM and Opus from live clients, each in its own limited process (`live-process.ts`). */
export class LiveDecoders implements StreamDecoders {
  readonly #options: LiveDecodersOptions;
  readonly #programs = new LimitedSpawn();
  readonly #running = new Map<ChildDecoder, string>();

  constructor(options: LiveDecodersOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running.size;
  }

  open(organizationId: string, form: StreamedForm, sink: DecodedSink): StreamDecoder {
    this.#check(organizationId);
    const command = [process.execPath, ...NODE_OPTIONS, this.#options.program ?? PROGRAM, form];
    const child = this.#programs.start(command, LIMITS, ["pipe", "pipe", "ignore"]);
    const { observer, log } = this.#options;
    const decoder = new ChildDecoder(child, {
      pcm: (bytes) => sink.pcm(bytes),
      failed: (reason, error, how) => {
        observer?.failed(reason);
        log.warn({ reason, how, form, detail: error.message }, "live decoder failed");
        sink.failed(error);
      },
      ended: () => {
        this.#running.delete(decoder);
        observer?.running(this.#running.size);
      },
    });
    this.#running.set(decoder, organizationId);
    observer?.running(this.#running.size);
    return decoder;
  }

  /** Ends all decoders. */
  close(): void {
    for (const decoder of this.#running.keys()) decoder.close();
  }

  #check(organizationId: string): void {
    const { limit, observer } = this.#options;
    const share = Math.max(1, Math.floor(limit / 2));
    const own = [...this.#running.values()].filter((owner) => owner === organizationId).length;
    if (this.#running.size < limit && own < share) return;
    observer?.failed("busy");
    const advice = "send PCM, or try again when one has ended";
    if (own >= share) {
      const rule = `at most ${share} live sessions of an organization may send WebM, Ogg or Opus at the same time`;
      throw new ServiceError("TOO_MANY_REQUESTS", `${rule}: ${advice}`);
    }
    const rule = `at most ${limit} live sessions may send WebM, Ogg or Opus at the same time`;
    throw new ServiceError("ENGINE_BUSY", `${rule}: ${advice}`);
  }
}

interface ChildSink {
  pcm(bytes: Uint8Array): void;
  /** @param how how the process ended, for the log */
  failed(reason: DecoderFailure, error: ServiceError, how: string): void;
  /** Called once, when the process no longer counts towards the limit. */
  ended(): void;
}

class ChildDecoder implements StreamDecoder {
  readonly #child: ReturnType<LimitedSpawn["start"]>;
  readonly #sink: ChildSink;
  readonly #frames = new FrameReader(LONGEST_FRAME_BYTES);
  /** Lengths of the messages that the process has not decoded yet. */
  readonly #waiting: number[] = [];
  #waitingBytes = 0;
  readonly #marks: (() => void)[] = [];
  #stuckTimer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(child: ReturnType<LimitedSpawn["start"]>, sink: ChildSink) {
    this.#child = child;
    this.#sink = sink;
    child.once("error", (error) => this.#lost(error.message));
    child.once("close", (code, signal) => {
      this.#lost(`ended with ${signal ?? code}`);
      sink.ended();
    });
    // `close` reports how the process ended.
    child.stdin?.on("error", () => {});
    child.stdout?.on("data", (bytes: Buffer) => this.#receive(bytes));
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > MOST_WAITING_BYTES) {
      const rule = `more than ${MOST_WAITING_BYTES} bytes of encoded audio wait to be decoded`;
      this.#fail("too_fast", new ServiceError("TOO_FAST", rule), rule);
      return;
    }
    this.#waiting.push(bytes.length);
    this.#post(frameOf(FRAME.audio, bytes));
  }

  mark(then: () => void): void {
    if (this.#isOver) return;
    this.#marks.push(then);
    this.#post(frameOf(FRAME.mark));
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#stuckTimer);
    this.#child.kill("SIGKILL");
  }

  #post(frame: Uint8Array): void {
    this.#child.stdin?.write(frame);
    this.#stuckTimer ??= setTimeout(() => {
      const rule = "the decoder of this audio does not respond; open another session";
      this.#fail("stuck", new ServiceError("WORKER_LOST", rule), rule);
    }, STUCK_MS);
  }

  #receive(bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      for (const frame of this.#frames.push(bytes)) {
        if (this.#isOver) return;
        this.#accept(frame);
      }
    } catch (thrown) {
      if (!(thrown instanceof RangeError || thrown instanceof SyntaxError)) throw thrown;
      this.#lost(`sent an invalid frame: ${thrown.message}`);
    }
  }

  #accept({ kind, payload }: Frame): void {
    if (kind === FRAME.failed) {
      this.#fail("unreadable", reported(payload), "reported it");
      return;
    }
    if (kind === FRAME.audio) {
      this.#stuckTimer?.refresh();
      this.#sink.pcm(payload);
      return;
    }
    if (kind === FRAME.taken) this.#waitingBytes -= this.#waiting.shift() ?? 0;
    const then = kind === FRAME.mark ? this.#marks.shift() : undefined;
    if (this.#waiting.length + this.#marks.length === 0) {
      clearTimeout(this.#stuckTimer);
      this.#stuckTimer = undefined;
    } else this.#stuckTimer?.refresh();
    then?.();
  }

  #lost(how: string): void {
    const rule = "the decoder of this audio has ended; open another session";
    this.#fail("lost", new ServiceError("WORKER_LOST", rule), how);
  }

  #fail(reason: DecoderFailure, error: ServiceError, how: string): void {
    if (this.#isOver) return;
    this.close();
    this.#sink.failed(reason, error, how);
  }
}

/** Parses an error that the process reports. @throws {SyntaxError} if the process sent anything else */
function reported(payload: Uint8Array): ServiceError {
  const { code, message } = JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>;
  const known = REPORTED.find((one) => one === code);
  if (known === undefined || typeof message !== "string") throw new SyntaxError("unknown error");
  return new ServiceError(known, message.slice(0, LONGEST_REPORT));
}
