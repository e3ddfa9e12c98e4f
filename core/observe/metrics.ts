import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { observeEventLoopDelay } from "./event-loop-delay.js";
import { type SharedCounts, SharedHistogram } from "./shared-histogram.js";

/** Around 40 ms, the length of a frame of live audio. */
const MS_BUCKETS = [1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 30_000];
/** Compute time / audio time: below 1 keeps up. */
const RTF_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
/** From a model in the page cache to one on a network file system, in seconds. */
const LOAD_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120];

/** All metrics of the service. Labels are fixed terms: no key, text or organization is among them. */
export class Metrics {
  readonly #registry = new Registry();
  #modelRuns: SharedHistogram | null = null;
  /** Live traffic since the last scrape: counting each message in the registry would cost a microsecond. */
  #receivedSamples = 0;
  readonly #sentMessages = new Map<string, number>();

  readonly httpRequests = this.#counter(
    "http_requests_total",
    "Finished HTTP requests; status none is a client that left",
    ["method", "route", "status"],
  );
  readonly httpRequestMs = this.#histogram(
    "http_request_ms",
    "From request headers to the end of the answer",
    MS_BUCKETS,
    ["route"],
  );
  readonly errors = this.#counter("errors_total", "Error answers and live errors, by X-Svc-Error name", [
    "code",
  ]);
  readonly databaseDriverFaults = this.#counter(
    "database_driver_faults_total",
    "Unhandled rejections of the database driver",
  );
  readonly ttsFirstAudioMs = this.#histogram(
    "tts_first_audio_ms",
    "From the start of a synthesis to its first audio",
    MS_BUCKETS,
    ["model"],
  );
  readonly ttsCharacters = this.#counter("tts_characters_total", "Billed characters with audio");
  readonly ttsAudioSeconds = this.#counter("tts_audio_seconds_total", "Synthesized audio");
  readonly ttsPieces = this.#gauge("tts_pieces", "Pieces of text waiting or being synthesized", ["model"]);
  readonly ttsModelRuns = this.#counter(
    "tts_model_runs_total",
    "Synthesis model runs: a begin, a solver step or a vocoder window",
  );
  readonly ttsModelRows = this.#counter("tts_model_rows_total", "Pieces in those runs");
  readonly ttsModelBusySeconds = this.#counter(
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
  readonly ttsCacheHits = this.#counter(
    "tts_cache_hits_total",
    "Pieces of text served from the sentence cache",
  );
  readonly ttsCacheMisses = this.#counter(
    "tts_cache_misses_total",
    "Pieces of text not found in the sentence cache",
  );
  readonly ttsCacheBytes = this.#gauge("tts_cache_bytes", "Memory used by cached pieces");
  /** Observer of the sentence cache. */
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
  readonly speakSessions = this.#gauge("speak_sessions", "Speaking sessions that are open now");
  readonly speakFirstAudioMs = this.#histogram(
    "speak_first_audio_ms",
    "From the first complete sentence of a turn to its first audio",
    MS_BUCKETS,
  );
  readonly speakInterruptions = this.#counter(
    "speak_interruptions_total",
    "Sentences that a client of a speaking session cleared after their sound had begun",
  );
  readonly textDroppedCharacters = this.#counter(
    "text_dropped_characters_total",
    "Characters that cannot be spoken and were dropped",
  );
  readonly asrFileRtf = this.#histogram(
    "asr_file_rtf",
    "Processing time of a file / its duration",
    RTF_BUCKETS,
    ["model"],
  );
  readonly asrFileAudioSeconds = this.#counter("asr_file_audio_seconds_total", "Transcribed audio of files");
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
  readonly jobsQueued = this.#gauge("jobs_queued", "Jobs that wait, over all services on the database");
  readonly jobsRunning = this.#gauge("jobs_running", "Jobs that run, over all services on the database");
  readonly jobRuns = this.#counter(
    "job_runs_total",
    "Ended runs of jobs in this service; lost ones are repeated",
    ["outcome"],
  );
  /** Observer of jobs. */
  readonly observeJobs = {
    counted: ({ queued, running }: { readonly queued: number; readonly running: number }) => {
      this.jobsQueued.set(queued);
      this.jobsRunning.set(running);
    },
    ended: (outcome: "done" | "failed" | "lost") => this.jobRuns.inc({ outcome }),
  };
  readonly webhooksSent = this.#counter(
    "webhooks_total",
    "Attempts at webhooks of jobs: delivered, to be retried, or given up",
    ["outcome"],
  );
  /** Observer of webhooks. */
  readonly observeWebhooks = {
    sent: (outcome: "delivered" | "retried" | "failed") => this.webhooksSent.inc({ outcome }),
  };
  readonly liveSessions = this.#gauge("live_sessions", "Live sessions that are open now");
  readonly liveSessionsOpened = this.#counter("live_sessions_total", "Live sessions by their path", ["path"]);
  readonly #liveReceivedSamples = this.#counter("live_received_samples_total", "Samples from live clients");
  readonly asrStepMs = this.#histogram(
    "asr_step_ms",
    "One batched step of a live worker, with gathering and results",
    MS_BUCKETS,
    ["model"],
  );
  readonly liveWorkerBusySeconds = this.#counter(
    "live_worker_busy_seconds_total",
    "Time that live workers were awake",
  );
  readonly liveWorkerRunSeconds = this.#counter(
    "live_worker_run_seconds_total",
    "Live workers' time inside graph runs",
  );
  readonly liveDecoders = this.#gauge(
    "live_decoders",
    "Decoder processes of live WebM, Ogg and Opus that run now",
  );
  readonly liveDecoderFailures = this.#counter(
    "live_decoder_failures_total",
    "Live sessions that ended because their audio could not be decoded, by reason",
    ["reason"],
  );
  /** Observer of the decoders of live audio. */
  readonly observeLiveDecoders = {
    running: (count: number) => this.liveDecoders.set(count),
    failed: (reason: string) => this.liveDecoderFailures.inc({ reason }),
  };
  readonly ringFull = this.#counter("ring_full_total", "Live audio writes beyond a session's backlog");
  readonly #liveMessages = this.#counter("live_messages_total", "Messages to live clients by type", ["type"]);
  readonly beamSearchNative = this.#gauge(
    "beam_search_native",
    "1 if the second pass searches natively, 0 for TypeScript",
  );

  readonly modelLoads = this.#counter("model_loads_total", "Model loads, loaded or failed", [
    "engine",
    "model",
    "outcome",
  ]);
  readonly modelLoadSeconds = this.#histogram(
    "model_load_seconds",
    "From the start of an engine's workers until all are warm",
    LOAD_BUCKETS,
    ["engine", "model"],
  );
  readonly modelLoaded = this.#gauge("model_loaded", "1 while an engine's models are loaded, else 0", [
    "engine",
    "model",
  ]);

  readonly engineWorkers = this.#gauge(
    "engine_workers",
    "Worker threads of an engine, by the reason for their number",
    ["engine", "model", "reason"],
  );
  readonly frontInfo = this.#gauge("front_info", "1 for the front in use, with its package and version", [
    "front",
    "package",
    "version",
  ]);
  readonly machineCores = this.#gauge(
    "machine_cores",
    "Cores available to the process, within a container's quota",
  );
  readonly machineMemoryBytes = this.#gauge(
    "machine_memory_bytes",
    "Memory of the machine, or the container's limit",
  );

  readonly modelProviderInfo = this.#gauge(
    "model_provider_info",
    "1 for each graph and device in use, by provider and variant",
    ["engine", "graph", "provider", "device", "variant"],
  );
  readonly providerFallbacks = this.#counter(
    "provider_fallbacks_total",
    "Moves of an engine to another provider, at the start or after a loss",
    ["engine", "from", "to"],
  );

  readonly busConnected = this.#gauge("bus_connected", "1 while connected to the bus; 0 without a bus");
  readonly busMessagesDamaged = this.#counter(
    "bus_messages_damaged_total",
    "Damaged bus messages that were dropped",
  );
  readonly laneBytesInFlight = this.#gauge(
    "lane_bytes_in_flight",
    "Unacknowledged bytes sent to engine processes",
  );
  readonly laneReplays = this.#counter(
    "lane_replays_total",
    "Lost lanes to engine processes; their sessions were replayed",
    ["reason"],
  );
  readonly laneReplayedSessions = this.#counter(
    "lane_replayed_sessions_total",
    "Live sessions on lost lanes",
  );
  readonly laneMoves = this.#counter("lane_moves_total", "Lanes that got another engine process, by reason", [
    "reason",
  ]);
  /** Observer of lanes to engine processes. */
  readonly observeLanes = {
    replayed: (reason: string, sessions: number) => {
      this.laneReplays.inc({ reason });
      this.laneReplayedSessions.inc(sessions);
    },
    moved: (reason: string) => this.laneMoves.inc({ reason }),
    inFlight: (changeBytes: number) => this.laneBytesInFlight.inc(changeBytes),
  };

  readonly fleetCalls = this.#gauge(
    "fleet_calls",
    "Pieces of speech and tasks of files in engine processes",
    ["kind"],
  );
  readonly fleetCallsLost = this.#counter(
    "fleet_calls_lost_total",
    "Lost or refused calls to engine processes; they were repeated",
    ["kind", "reason"],
  );
  /** Observer of calls to engine processes. */
  readonly observeCalls = {
    began: (kind: string) => this.fleetCalls.inc({ kind }),
    ended: (kind: string) => this.fleetCalls.dec({ kind }),
    lost: (kind: string, reason: string) => this.fleetCallsLost.inc({ kind, reason }),
  };

  /** @param options.withProcess adds memory, CPU, event loop and garbage collection of the process */
  constructor({ withProcess }: { readonly withProcess: boolean }) {
    if (!withProcess) return;
    // Hide prom-client's event loop delay, which includes the tick and would duplicate ours, and stop its
    // timer.
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 2 ** 30 });
    for (const { name } of this.#registry.getMetricsAsArray())
      if (name.startsWith("nodejs_eventloop_lag")) this.#registry.removeSingleMetric(name);
    observeEventLoopDelay(this.#registry);
  }

  get contentType(): string {
    return this.#registry.contentType;
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
    this.#readGauge("spool_bytes", help, takenBytes);
  }

  /** Reads the size of unsent speech at each scrape. */
  observeHeldSpeech(takenBytes: () => number): void {
    this.#readGauge("speech_held_bytes", "Memory reserved for unsent speech", takenBytes);
  }

  /** Reads the state of the engine processes at each scrape. */
  observeFleet(
    read: () => { readonly capacity: number; readonly used: number; readonly oldestHeartbeatMs: number },
  ): void {
    this.#readGauge("fleet_capacity", "Live sessions that engine processes accept", () => read().capacity);
    this.#readGauge("fleet_used", "Live sessions on engine processes", () => read().used);
    const help = "Time since the last heartbeat of the engine process that has been silent longest";
    this.#readGauge("fleet_beat_age_seconds", help, () => read().oldestHeartbeatMs / 1_000);
  }

  /** Reads the capacity of all engine processes, by kind, at each scrape. */
  observeCallRoom(read: () => Readonly<Record<string, number>>): void {
    new Gauge({
      name: "fleet_call_capacity",
      help: "Calls that engine processes accept at a time, by kind",
      labelNames: ["kind"] as const,
      registers: [this.#registry],
      collect() {
        for (const [kind, capacity] of Object.entries(read())) this.set({ kind }, capacity);
      },
    });
  }

  /** Reads the audio that live workers have not stepped yet, by model, at each scrape. */
  observeLiveLateness(read: () => ReadonlyMap<string, number>): void {
    new Gauge({
      name: "live_late_seconds",
      help: "Audio of the latest session that its worker has not stepped yet",
      labelNames: ["model"] as const,
      registers: [this.#registry],
      collect() {
        for (const [model, seconds] of read()) this.set({ model }, seconds);
      },
    });
  }

  /** Reads the failures of devices, by kind, at each scrape. */
  observeDeviceErrors<K extends string>(kinds: readonly K[], count: (kind: K) => number): void {
    new Counter({
      name: "gpu_errors_total",
      help: "Device failures: missing at load, out of memory, lost, others",
      labelNames: ["kind"] as const,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const kind of kinds) this.inc({ kind }, count(kind));
      },
    });
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
    this.#registry.registerMetric(runs.metric);
    new Counter({
      name: "model_rows_total",
      help: "Rows in the runs of model_run_ms, padding included",
      labelNames: ["graph"] as const,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { graph, rows } of runs.read()) this.inc({ graph }, rows);
      },
    });
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
    return this.#registry.metrics();
  }

  #counter<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }

  /** Registers a gauge whose value is read at each scrape. */
  #readGauge(name: string, help: string, value: () => number): void {
    new Gauge({
      ...{ name, help, registers: [this.#registry] },
      collect() {
        this.set(value());
      },
    });
  }

  #histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ) {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.#registry] });
  }
}
