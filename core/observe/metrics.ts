import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { observeEventLoopDelay } from "./event-loop-delay.js";
import { type SharedCounts, SharedHistogram } from "./shared-histogram.js";

/** Around the 40 ms that one frame of live audio lasts. */
const MS_BUCKETS = [1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 30_000];
/** Compute time / audio time: below 1 keeps up. */
const RTF_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** From a model in the page cache to one that comes over a network. */
const LOAD_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120];

/** Everything that is counted and timed. Labels are our own words only: no key, text or organization is among them. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #own = { registers: [this.#registry] };
  #modelRuns: SharedHistogram | null = null;
  /** Live traffic since the registry was last told of it: with each message a counter of its own would cost a microsecond. */
  #receivedSamples = 0;
  readonly #sentMessages = new Map<string, number>();

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
  readonly databaseDriverFaults = new Counter({
    name: "database_driver_faults_total",
    help: "Rejections of the database driver that nobody held; each is a fault of the driver",
    ...this.#own,
  });
  readonly ttsFirstAudioMs = new Histogram({
    name: "tts_first_audio_ms",
    help: "From the start of a synthesis to its first audio",
    labelNames: ["model"] as const,
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
  readonly ttsPieces = new Gauge({
    name: "tts_pieces",
    help: "Pieces of text that wait for a synthesis worker or are being made",
    labelNames: ["model"] as const,
    ...this.#own,
  });
  readonly ttsModelRuns = new Counter({
    name: "tts_model_runs_total",
    help: "Model runs of the synthesis workers: a begin, a solver step or a vocoder window",
    ...this.#own,
  });
  readonly ttsModelRows = new Counter({
    name: "tts_model_rows_total",
    help: "Pieces in those runs",
    ...this.#own,
  });
  readonly ttsModelBusySeconds = new Counter({
    name: "tts_model_busy_seconds_total",
    help: "Time that synthesis workers spent inside the model's runtime",
    ...this.#own,
  });
  /** What the synthesis engine of a model tells. */
  readonly observeSynthesis = (model: string) => ({
    ran: (runs: number, rows: number, busyMs: number) => {
      this.ttsModelRuns.inc(runs);
      this.ttsModelRows.inc(rows);
      this.ttsModelBusySeconds.inc(busyMs / 1_000);
    },
    pieces: (count: number) => this.ttsPieces.set({ model }, count),
  });
  readonly ttsCacheHits = new Counter({
    name: "tts_cache_hits_total",
    help: "Pieces of text that were still there from an earlier request and not made again",
    ...this.#own,
  });
  readonly ttsCacheMisses = new Counter({
    name: "tts_cache_misses_total",
    help: "Pieces of text that were looked for among finished ones and had to be made",
    ...this.#own,
  });
  readonly ttsCacheBytes = new Gauge({
    name: "tts_cache_bytes",
    help: "Memory that finished pieces take",
    ...this.#own,
  });
  /** What the cache of finished sentences tells. */
  readonly observeSentenceCache = {
    hit: () => this.ttsCacheHits.inc(),
    missed: () => this.ttsCacheMisses.inc(),
    holds: (bytes: number) => this.ttsCacheBytes.set(bytes),
  };
  /** What a synthesis by a model tells. */
  readonly observeSpeech = (model: string) => ({
    dropped: (characters: number) => this.textDroppedCharacters.inc(characters),
    firstAudio: (afterMs: number, billedCharacters: number) => {
      this.ttsFirstAudioMs.observe({ model }, afterMs);
      this.ttsCharacters.inc(billedCharacters);
    },
    audio: (seconds: number) => this.ttsAudioSeconds.inc(seconds),
  });
  readonly textDroppedCharacters = new Counter({
    name: "text_dropped_characters_total",
    help: "Characters of texts to speak that have no reading and were dropped",
    ...this.#own,
  });
  readonly asrFileRtf = new Histogram({
    name: "asr_file_rtf",
    help: "Processing time of a file / its duration",
    labelNames: ["model"] as const,
    buckets: RTF_BUCKETS,
    ...this.#own,
  });
  readonly asrFileAudioSeconds = new Counter({
    name: "asr_file_audio_seconds_total",
    help: "Transcribed audio of files",
    ...this.#own,
  });
  /** Told of each file whose transcript is charged. */
  readonly observeFile = (file: {
    readonly modelId: string;
    readonly sampleCountIn: number;
    readonly sampleRateInHz: number;
    readonly processingSeconds: number;
  }) => {
    const audioSeconds = file.sampleCountIn / file.sampleRateInHz;
    this.asrFileAudioSeconds.inc(audioSeconds);
    if (audioSeconds > 0)
      this.asrFileRtf.observe({ model: file.modelId }, file.processingSeconds / audioSeconds);
  };
  readonly liveSessions = new Gauge({
    name: "live_sessions",
    help: "Live sessions that are open now",
    ...this.#own,
  });
  readonly #liveReceivedSamples = new Counter({
    name: "live_received_samples_total",
    help: "Samples that live clients sent",
    ...this.#own,
  });
  readonly asrStepMs = new Histogram({
    name: "asr_step_ms",
    help: "One batched step of a live worker: audio gathered, run, and handed out",
    labelNames: ["model"] as const,
    buckets: MS_BUCKETS,
    ...this.#own,
  });
  readonly liveWorkerBusySeconds = new Counter({
    name: "live_worker_busy_seconds_total",
    help: "Time that live workers were awake",
    ...this.#own,
  });
  readonly liveWorkerRunSeconds = new Counter({
    name: "live_worker_run_seconds_total",
    help: "Time that live workers spent inside runs of their graphs",
    ...this.#own,
  });
  readonly ringFull = new Counter({
    name: "ring_full_total",
    help: "Writes of live audio that did not fit into the session's backlog",
    ...this.#own,
  });
  readonly #liveMessages = new Counter({
    name: "live_messages_total",
    help: "Messages to live clients by type",
    labelNames: ["type"] as const,
    ...this.#own,
  });
  readonly beamSearchNative = new Gauge({
    name: "beam_search_native",
    help: "1 when the second pass searches natively, 0 when it does in TypeScript",
    ...this.#own,
  });

  readonly modelLoads = new Counter({
    name: "model_loads_total",
    help: "Loads of an engine's models by outcome, loaded or failed",
    labelNames: ["engine", "model", "outcome"] as const,
    ...this.#own,
  });
  readonly modelLoadSeconds = new Histogram({
    name: "model_load_seconds",
    help: "From the start of an engine's workers until all of them are warmed up",
    labelNames: ["engine", "model"] as const,
    buckets: LOAD_BUCKETS,
    ...this.#own,
  });
  readonly modelLoaded = new Gauge({
    name: "model_loaded",
    help: "1 while an engine's models are loaded, else 0",
    labelNames: ["engine", "model"] as const,
    ...this.#own,
  });

  readonly engineWorkers = new Gauge({
    name: "engine_workers",
    help: "Worker threads that an engine may have, by what decided their number",
    labelNames: ["engine", "model", "reason"] as const,
    ...this.#own,
  });
  readonly frontInfo = new Gauge({
    name: "front_info",
    help: "1 for the front in use, with the package and version that it runs on",
    labelNames: ["front", "package", "version"] as const,
    ...this.#own,
  });
  readonly machineCores = new Gauge({
    name: "machine_cores",
    help: "Cores that the process may use, a container's quota considered",
    ...this.#own,
  });
  readonly machineMemoryBytes = new Gauge({
    name: "machine_memory_bytes",
    help: "Memory of the machine, or of the container where that has less",
    ...this.#own,
  });

  readonly modelProviderInfo = new Gauge({
    name: "model_provider_info",
    help: "1 for each graph of an engine and device on which workers run it, by provider and variant",
    labelNames: ["engine", "graph", "provider", "device", "variant"] as const,
    ...this.#own,
  });
  readonly providerFallbacks = new Counter({
    name: "provider_fallbacks_total",
    help: "Moves of an engine to another provider of its list, at the start or when one was lost",
    labelNames: ["engine", "from", "to"] as const,
    ...this.#own,
  });

  readonly busConnected = new Gauge({
    name: "bus_connected",
    help: "1 while the connection to the bus stands, else 0; 0 too without a bus",
    ...this.#own,
  });
  readonly busMessagesDamaged = new Counter({
    name: "bus_messages_damaged_total",
    help: "Messages from the bus that were damaged and dropped",
    ...this.#own,
  });
  readonly laneBytesInFlight = new Gauge({
    name: "lane_bytes_in_flight",
    help: "Bytes sent to engine processes that they have not said they heard",
    ...this.#own,
  });
  readonly laneReplays = new Counter({
    name: "lane_replays_total",
    help: "Lanes to engine processes that were lost, by why; their sessions were replayed on others",
    labelNames: ["reason"] as const,
    ...this.#own,
  });
  readonly laneReplayedSessions = new Counter({
    name: "lane_replayed_sessions_total",
    help: "Live sessions on lanes that were lost",
    ...this.#own,
  });
  readonly laneMoves = new Counter({
    name: "lane_moves_total",
    help: "Lanes whose sessions went to another engine process between two utterances, by why",
    labelNames: ["reason"] as const,
    ...this.#own,
  });
  /** What lanes to engine processes tell. */
  readonly observeLanes = {
    replayed: (reason: string, sessions: number) => {
      this.laneReplays.inc({ reason });
      this.laneReplayedSessions.inc(sessions);
    },
    moved: (reason: string) => this.laneMoves.inc({ reason }),
    inFlight: (changeBytes: number) => this.laneBytesInFlight.inc(changeBytes),
  };

  readonly fleetCalls = new Gauge({
    name: "fleet_calls",
    help: "Pieces of speech and tasks of files that engine processes work on for this gateway",
    labelNames: ["kind"] as const,
    ...this.#own,
  });
  readonly fleetCallsLost = new Counter({
    name: "fleet_calls_lost_total",
    help: "Pieces of speech and tasks of files that engine processes have lost or refused, by why; they went to others",
    labelNames: ["kind", "reason"] as const,
    ...this.#own,
  });
  /** What calls to engine processes tell. */
  readonly observeCalls = {
    began: (kind: string) => this.fleetCalls.inc({ kind }),
    ended: (kind: string) => this.fleetCalls.dec({ kind }),
    lost: (kind: string, reason: string) => this.fleetCallsLost.inc({ kind, reason }),
  };

  /** @param options.withProcess adds memory, CPU, event loop and garbage collection of the process */
  constructor({ withProcess }: { readonly withProcess: boolean }) {
    if (!withProcess) return;
    // Its delay of the event loop has the tick in it and would be a second name for ours: its clock stands, and it is not shown.
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 2 ** 30 });
    for (const { name } of this.#registry.getMetricsAsArray())
      if (name.startsWith("nodejs_eventloop_lag")) this.#registry.removeSingleMetric(name);
    observeEventLoopDelay(this.#registry);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Samples that a live client has sent. */
  liveReceived(sampleCount: number): void {
    this.#receivedSamples += sampleCount;
  }

  /** A message to a live client. */
  liveSent(type: string): void {
    this.#sentMessages.set(type, (this.#sentMessages.get(type) ?? 0) + 1);
  }

  /** Asked for the bytes of spooled audio whenever somebody looks. */
  observeSpool(takenBytes: () => number): void {
    new Gauge({
      name: "spool_bytes",
      help: "Disk space that uploads, fetched and decoded audio take while they are worked on",
      ...this.#own,
      collect() {
        this.set(takenBytes());
      },
    });
  }

  /** Asked for the bytes of unsent speech whenever somebody looks. */
  observeHeldSpeech(takenBytes: () => number): void {
    new Gauge({
      name: "speech_held_bytes",
      help: "Memory set aside for speech that is made and not yet sent",
      ...this.#own,
      collect() {
        this.set(takenBytes());
      },
    });
  }

  /** Asked for what is known of engine processes at each scrape. */
  observeFleet(
    read: () => { readonly capacity: number; readonly used: number; readonly oldestHeartbeatMs: number },
  ): void {
    const gauge = (name: string, help: string, value: () => number) =>
      new Gauge({
        name,
        help,
        ...this.#own,
        collect() {
          this.set(value());
        },
      });
    gauge("fleet_capacity", "Live sessions that engine processes take", () => read().capacity);
    gauge("fleet_used", "Live sessions on engine processes", () => read().used);
    gauge(
      "fleet_beat_age_seconds",
      "Since the last sign of life of the engine process that has been silent longest",
      () => read().oldestHeartbeatMs / 1_000,
    );
  }

  /** Asked at each scrape for what all engine processes take at once, by kind. */
  observeCallRoom(read: () => Readonly<Record<string, number>>): void {
    new Gauge({
      name: "fleet_call_capacity",
      help: "Pieces of speech and tasks of files that engine processes take at once",
      labelNames: ["kind"] as const,
      ...this.#own,
      collect() {
        for (const [kind, capacity] of Object.entries(read())) this.set({ kind }, capacity);
      },
    });
  }

  /** Asked for failures of devices by kind whenever somebody looks. */
  observeDeviceErrors<K extends string>(kinds: readonly K[], count: (kind: K) => number): void {
    const told = new Map<K, number>();
    new Counter({
      name: "gpu_errors_total",
      help: "Failures outside of the CPU: at load (missing), in a run without memory, of a lost device, others",
      labelNames: ["kind"] as const,
      ...this.#own,
      collect() {
        for (const kind of kinds) {
          const now = count(kind);
          this.inc({ kind }, now - (told.get(kind) ?? 0));
          told.set(kind, now);
        }
      },
    });
  }

  /** Asked for the runs of a model's graphs, and the rows in them, at each scrape. @param boundsMs of the buckets, rising */
  observeRuns(boundsMs: readonly number[], read: () => readonly SharedCounts[]): void {
    if (this.#modelRuns === null) {
      this.#modelRuns = new SharedHistogram({
        name: "model_run_ms",
        help: "One run of a graph, the wait for its device included",
        label: "graph",
        bounds: boundsMs,
      });
      this.#registry.registerMetric(this.#modelRuns.metric);
      const runs = this.#modelRuns;
      new Counter({
        name: "model_rows_total",
        help: "Rows in the runs that model_run_ms counts, those that fill a batch up among them",
        labelNames: ["graph"] as const,
        ...this.#own,
        collect() {
          this.reset();
          for (const { graph, rows } of runs.read()) this.inc({ graph }, rows);
        },
      });
    }
    this.#modelRuns.add(read);
  }

  /** Counts the loads of a model by one of its engines. */
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

  /** Everything in Prometheus' text format. */
  text(): Promise<string> {
    this.#liveReceivedSamples.inc(this.#receivedSamples);
    this.#receivedSamples = 0;
    for (const [type, count] of this.#sentMessages) this.#liveMessages.inc({ type }, count);
    this.#sentMessages.clear();
    return this.#registry.metrics();
  }
}
