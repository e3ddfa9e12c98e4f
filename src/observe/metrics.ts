import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Around the 40 ms that one frame of live audio lasts. */
const MS_BUCKETS = [1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 30_000];
/** Compute time / audio time: below 1 keeps up. */
const RTF_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** Everything that is counted and timed. Labels are our own words only: no key, text or organization is among them. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #own = { registers: [this.#registry] };

  readonly httpRequests = new Counter({
    name: "http_requests_total",
    help: "HTTP requests that are over, by route and status; status none is a client that left",
    labelNames: ["method", "route", "status"] as const,
    ...this.#own,
  });
  readonly httpRequestMs = new Histogram({
    name: "http_request_ms",
    help: "From the head of a request to the end of its answer",
    labelNames: ["route"] as const,
    buckets: MS_BUCKETS,
    ...this.#own,
  });
  readonly errors = new Counter({
    name: "errors_total",
    help: "Error answers and live error messages by their name in X-Svc-Error",
    labelNames: ["code"] as const,
    ...this.#own,
  });
  readonly ttsFirstAudioMs = new Histogram({
    name: "tts_first_audio_ms",
    help: "From the start of a synthesis to its first finished sentence",
    buckets: MS_BUCKETS,
    ...this.#own,
  });
  readonly ttsCharacters = new Counter({
    name: "tts_characters_total",
    help: "Billed characters of syntheses that gave audio",
    ...this.#own,
  });
  readonly ttsAudioSeconds = new Counter({
    name: "tts_audio_seconds_total",
    help: "Synthesized audio",
    ...this.#own,
  });
  readonly asrFileRtf = new Histogram({
    name: "asr_file_rtf",
    help: "Processing time of a file / its duration",
    buckets: RTF_BUCKETS,
    ...this.#own,
  });
  readonly asrFileAudioSeconds = new Counter({
    name: "asr_file_audio_seconds_total",
    help: "Transcribed audio of files",
    ...this.#own,
  });
  readonly liveSessions = new Gauge({
    name: "live_sessions",
    help: "Live sessions that are open now",
    ...this.#own,
  });
  readonly liveReceivedSamples = new Counter({
    name: "live_received_samples_total",
    help: "Samples that live clients sent",
    ...this.#own,
  });
  readonly liveMessages = new Counter({
    name: "live_messages_total",
    help: "Messages to live clients by type",
    labelNames: ["type"] as const,
    ...this.#own,
  });

  /** @param options.withProcess adds memory, CPU, event loop and garbage collection of the process */
  constructor({ withProcess }: { readonly withProcess: boolean }) {
    if (withProcess) collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Everything in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
