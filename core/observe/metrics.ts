import { collectDefaultMetrics } from "prom-client";
import { observeEventLoopDelay } from "./event-loop-delay.js";
import { fleetMetrics } from "./fleet-metrics.js";
import { MetricRegistry } from "./metric-registry.js";
import { type SharedCounts, SharedHistogram } from "./shared-histogram.js";

/** Around 40 ms, the length of a frame of live audio. */
const MS_BUCKETS = [1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 30_000];
/** Compute time / audio time: below 1 keeps up. */
const RTF_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
/** From a model in the page cache to one on a network file system, in seconds. */
const LOAD_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120];

/** All metrics of the service. Labels are fixed terms: no key, text or organization is among them. */
export class Metrics {
  readonly #make = new MetricRegistry();
  #modelRuns: SharedHistogram | null = null;
  /** Live traffic since the last scrape: counting each message in the registry would cost a microsecond. */
  #receivedSamples = 0;
  readonly #sentMessages = new Map<string, number>();

  readonly httpRequests = this.#make.counter(
    "http_requests_total",
    "Finished HTTP requests; status none is a client that left",
    ["method", "route", "status"],
  );
  readonly httpRequestMs = this.#make.histogram(
    "http_request_ms",
    "From request headers to the end of the answer",
    MS_BUCKETS,
    ["route"],
  );
  readonly errors = this.#make.counter("errors_total", "Error answers and live errors, by X-Svc-Error name", [
    "code",
  ]);
  readonly databaseDriverFaults = this.#make.counter(
    "database_driver_faults_total",
    "Unhandled rejections of the database driver",
  );
  readonly ttsFirstAudioMs = this.#make.histogram(
    "tts_first_audio_ms",
    "From the start of a synthesis to its first audio",
    MS_BUCKETS,
    ["model"],
  );
  readonly ttsCharacters = this.#make.counter("tts_characters_total", "Billed characters with audio");
  readonly ttsAudioSeconds = this.#make.counter("tts_audio_seconds_total", "Synthesized audio");
  readonly ttsPieces = this.#make.gauge("tts_pieces", "Pieces of text waiting or being synthesized", [
    "model",
  ]);
  readonly ttsModelRuns = this.#make.counter(
    "tts_model_runs_total",
    "Synthesis model runs: a begin, a solver step or a vocoder window",
  );
  readonly ttsModelRows = this.#make.counter("tts_model_rows_total", "Pieces in those runs");
  readonly ttsModelBusySeconds = this.#make.counter(
    "tts_model_busy_seconds_total",
    "Synthesis workers' time inside the runtime",
  );
  /** Observer of a model's synthesis engine. */
  readonly observeSynthesis = (model: string) => ({
    ran: (runs: number, rows: number, busyMs: number) => {
      this.ttsModelRuns.inc(runs);
      this.ttsModelRows.inc(rows);
      this.ttsModelBusySeconds.inc(busyMs / 1_000);
    },
    pieces: (count: number) => this.ttsPieces.set({ model }, count),
  });
  readonly ttsCacheHits = this.#make.counter(
    "tts_cache_hits_total",
    "Pieces of text served from the sentence cache",
  );
  readonly ttsCacheMisses = this.#make.counter(
    "tts_cache_misses_total",
    "Pieces of text not found in the sentence cache",
  );
  readonly ttsCacheBytes = this.#make.gauge("tts_cache_bytes", "Memory used by cached pieces");
  readonly observeSentenceCache = {
    hit: () => this.ttsCacheHits.inc(),
    missed: () => this.ttsCacheMisses.inc(),
    holds: (bytes: number) => this.ttsCacheBytes.set(bytes),
  };
  /** Observer of a synthesis. */
  readonly observeSpeech = (model: string) => ({
    dropped: (characters: number) => this.textDroppedCharacters.inc(characters),
    firstAudio: (afterMs: number, billedCharacters: number) => {
      this.ttsFirstAudioMs.observe({ model }, afterMs);
      this.ttsCharacters.inc(billedCharacters);
    },
    audio: (seconds: number) => this.ttsAudioSeconds.inc(seconds),
  });
  readonly speakSessions = this.#make.gauge("speak_sessions", "Speaking sessions that are open now");
  readonly speakFirstAudioMs = this.#make.histogram(
    "speak_first_audio_ms",
    "From the first complete sentence of a turn to its first audio",
    MS_BUCKETS,
  );
  readonly speakInterruptions = this.#make.counter(
    "speak_interruptions_total",
    "Sentences that a client of a speaking session cleared after their sound had begun",
  );
  readonly textDroppedCharacters = this.#make.counter(
    "text_dropped_characters_total",
    "Characters that cannot be spoken and were dropped",
  );
  readonly asrFileRtf = this.#make.histogram(
    "asr_file_rtf",
    "Processing time of a file / its duration",
    RTF_BUCKETS,
    ["model"],
  );
  readonly asrFileAudioSeconds = this.#make.counter(
    "asr_file_audio_seconds_total",
    "Transcribed audio of files",
  );
  /** Counts a file whose transcript was charged. */
  readonly observeFile = (file: {
    readonly modelId: string;
    readonly sampleCountIn: number;
    readonly sampleRateInHz: number;
    readonly channelCount?: number;
    readonly processingSeconds: number;
  }) => {
    const audioSeconds = (file.sampleCountIn / file.sampleRateInHz) * (file.channelCount ?? 1);
    this.asrFileAudioSeconds.inc(audioSeconds);
    if (audioSeconds > 0)
      this.asrFileRtf.observe({ model: file.modelId }, file.processingSeconds / audioSeconds);
  };
  readonly jobsQueued = this.#make.gauge("jobs_queued", "Jobs that wait, over all services on the database");
  readonly jobsRunning = this.#make.gauge("jobs_running", "Jobs that run, over all services on the database");
  readonly jobRuns = this.#make.counter(
    "job_runs_total",
    "Ended runs of jobs in this service; lost ones are repeated",
    ["outcome"],
  );
  readonly observeJobs = {
    counted: ({ queued, running }: { readonly queued: number; readonly running: number }) => {
      this.jobsQueued.set(queued);
      this.jobsRunning.set(running);
    },
    ended: (outcome: "done" | "failed" | "lost") => this.jobRuns.inc({ outcome }),
  };
  readonly webhooksSent = this.#make.counter(
    "webhooks_total",
    "Attempts at webhooks of jobs: delivered, to be retried, or given up",
    ["outcome"],
  );
  readonly observeWebhooks = {
    sent: (outcome: "delivered" | "retried" | "failed") => this.webhooksSent.inc({ outcome }),
  };
  readonly liveSessions = this.#make.gauge("live_sessions", "Live sessions that are open now");
  readonly liveSessionsOpened = this.#make.counter("live_sessions_total", "Live sessions by their path", [
    "path",
  ]);
  readonly #liveReceivedSamples = this.#make.counter(
    "live_received_samples_total",
    "Samples from live clients",
  );
  readonly asrStepMs = this.#make.histogram(
    "asr_step_ms",
    "One batched step of a live worker, with gathering and results",
    MS_BUCKETS,
    ["model"],
  );
  readonly liveWorkerBusySeconds = this.#make.counter(
    "live_worker_busy_seconds_total",
    "Time that live workers were awake",
  );
  readonly liveWorkerRunSeconds = this.#make.counter(
    "live_worker_run_seconds_total",
    "Live workers' time inside graph runs",
  );
  readonly liveDecoders = this.#make.gauge(
    "live_decoders",
    "Decoder processes of live WebM, Ogg and Opus that run now",
  );
  readonly liveDecoderFailures = this.#make.counter(
    "live_decoder_failures_total",
    "Live sessions that ended because their audio could not be decoded, by reason",
    ["reason"],
  );
  /** Observer of the decoders of live audio. */
  readonly observeLiveDecoders = {
    running: (count: number) => this.liveDecoders.set(count),
    failed: (reason: string) => this.liveDecoderFailures.inc({ reason }),
  };
  readonly ringFull = this.#make.counter("ring_full_total", "Live audio writes beyond a session's backlog");
  readonly #liveMessages = this.#make.counter("live_messages_total", "Messages to live clients by type", [
    "type",
  ]);
  readonly beamSearchNative = this.#make.gauge(
    "beam_search_native",
    "1 if the second pass searches natively, 0 for TypeScript",
  );

  readonly modelLoads = this.#make.counter("model_loads_total", "Model loads, loaded or failed", [
    "engine",
    "model",
    "outcome",
  ]);
  readonly modelLoadSeconds = this.#make.histogram(
    "model_load_seconds",
    "From the start of an engine's workers until all are warm",
    LOAD_BUCKETS,
    ["engine", "model"],
  );
  readonly modelLoaded = this.#make.gauge("model_loaded", "1 while an engine's models are loaded, else 0", [
    "engine",
    "model",
  ]);

  readonly engineWorkers = this.#make.gauge(
    "engine_workers",
    "Worker threads of an engine, by the reason for their number",
    ["engine", "model", "reason"],
  );
  readonly frontInfo = this.#make.gauge(
    "front_info",
    "1 for the front in use, with its package and version",
    ["front", "package", "version"],
  );
  readonly machineCores = this.#make.gauge(
    "machine_cores",
    "Cores available to the process, within a container's quota",
  );
  readonly machineMemoryBytes = this.#make.gauge(
    "machine_memory_bytes",
    "Memory of the machine, or the container's limit",
  );

  readonly modelProviderInfo = this.#make.gauge(
    "model_provider_info",
    "1 for each graph and device in use, by provider and variant",
    ["engine", "graph", "provider", "device", "variant"],
  );
  readonly providerFallbacks = this.#make.counter(
    "provider_fallbacks_total",
    "Moves of an engine to another provider, at the start or after a loss",
    ["engine", "from", "to"],
  );

  readonly fleet = fleetMetrics(this.#make);

  /** @param options.withProcess adds memory, CPU, event loop and garbage collection of the process */
  constructor({ withProcess }: { readonly withProcess: boolean }) {
    if (!withProcess) return;
    // Hide prom-client's event loop delay, which includes the tick and would duplicate ours, and stop its
    // timer.
    collectDefaultMetrics({ register: this.#make.registry, eventLoopMonitoringPrecision: 2 ** 30 });
    for (const { name } of this.#make.registry.getMetricsAsArray())
      if (name.startsWith("nodejs_eventloop_lag")) this.#make.registry.removeSingleMetric(name);
    observeEventLoopDelay(this.#make.registry);
  }

  get contentType(): string {
    return this.#make.registry.contentType;
  }

  /** Counts samples of a live client. */
  liveReceived(sampleCount: number): void {
    this.#receivedSamples += sampleCount;
  }

  /** Counts a message to a live client. */
  liveSent(type: string): void {
    this.#sentMessages.set(type, (this.#sentMessages.get(type) ?? 0) + 1);
  }

  /** Reads the size of the audio spool at each scrape. */
  observeSpool(takenBytes: () => number): void {
    const help = "Disk space used by uploaded, fetched and decoded audio in work";
    this.#make.readGauge("spool_bytes", help, takenBytes);
  }

  /** Reads the size of unsent speech at each scrape. */
  observeHeldSpeech(takenBytes: () => number): void {
    this.#make.readGauge("speech_held_bytes", "Memory reserved for unsent speech", takenBytes);
  }

  /** Reads the audio that live workers have not stepped yet, by model, at each scrape. */
  observeLiveLateness(read: () => ReadonlyMap<string, number>): void {
    const help = "Audio of the latest session that its worker has not stepped yet";
    this.#make.readGauges("live_late_seconds", help, "model", read);
  }

  /** Reads the failures of devices, by kind, at each scrape. */
  observeDeviceErrors<K extends string>(kinds: readonly K[], count: (kind: K) => number): void {
    const help = "Device failures: missing at load, out of memory, lost, others";
    this.#make.readCounters("gpu_errors_total", help, "kind", () =>
      kinds.map((kind) => [kind, count(kind)] as const),
    );
  }

  /**
   * Reads the runs of a model's graphs, and the rows in them, at each scrape.
   * @param boundsMs upper bounds of the buckets, ascending
   */
  observeRuns(boundsMs: readonly number[], read: () => readonly SharedCounts[]): void {
    this.#modelRuns ??= this.#makeModelRuns(boundsMs);
    this.#modelRuns.add(read);
  }

  #makeModelRuns(boundsMs: readonly number[]): SharedHistogram {
    const help = "One run of a graph, including the wait for its device";
    const runs = new SharedHistogram({ name: "model_run_ms", help, label: "graph", bounds: boundsMs });
    this.#make.registry.registerMetric(runs.metric);
    this.#make.readCounters(
      "model_rows_total",
      "Rows in the runs of model_run_ms, padding included",
      "graph",
      () => runs.read().map(({ graph, rows }) => [graph, rows] as const),
    );
    return runs;
  }

  /** Observer of the loads of a model by one of its engines. */
  observeModel(
    engine: string,
    model: string,
  ): { loaded(loadMs: number): void; loadFailed(): void; released(): void } {
    this.modelLoaded.set({ engine, model }, 0);
    return {
      loaded: (loadMs) => {
        this.modelLoads.inc({ engine, model, outcome: "loaded" });
        this.modelLoadSeconds.observe({ engine, model }, loadMs / 1_000);
        this.modelLoaded.set({ engine, model }, 1);
      },
      loadFailed: () => this.modelLoads.inc({ engine, model, outcome: "failed" }),
      released: () => this.modelLoaded.set({ engine, model }, 0),
    };
  }

  /** Returns all metrics in Prometheus' text format. */
  text(): Promise<string> {
    this.#liveReceivedSamples.inc(this.#receivedSamples);
    this.#receivedSamples = 0;
    for (const [type, count] of this.#sentMessages) this.#liveMessages.inc({ type }, count);
    this.#sentMessages.clear();
    return this.#make.registry.metrics();
  }
}
