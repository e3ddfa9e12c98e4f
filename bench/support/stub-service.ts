// The service's front, live sessions, rings, usage journal and a live worker without a recogniser, in a
// separate process: `node stub-service.js uws|node KEY [FRONT_THREADS]`. No store: everything is allowed.
// Prints its port; ends on SIGTERM.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LiveEngine } from "../../actors/live/engine.js";
import { type HearingModel, ModelList, type SpeakingModel } from "../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../core/domain/errors.js";
import { createLog } from "../../core/observe/log.js";
import { Metrics } from "../../core/observe/metrics.js";
import { systemClock } from "../../core/ports/clock.js";
import type { Conversations } from "../../core/ports/conversations.js";
import { DEFAULT_FRONT_LIMITS, type FrontHandlers } from "../../core/ports/front.js";
import type { UsageMeter } from "../../core/ports/usage-meter.js";
import { PROTOCOL_VERSION } from "../../native/threads/protocol.js";
import { WorkerHandle } from "../../native/threads/worker-handle.js";
import type { FrontKind } from "../../src/front/select-front.js";
import { ThreadedFront } from "../../src/front/threads/threaded-front.js";
import { ClientSecrets } from "../../src/http/client-secrets.js";
import { AnswerFiles } from "../../src/http/kept-answers.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import { SpeechBudget } from "../../src/http/running-work.js";
import { StreamTokens } from "../../src/http/signed-credentials.js";
import { AddressPolicy } from "../../src/input/url/address-policy.js";
import { UrlFetcher } from "../../src/input/url/url-fetcher.js";
import { listen } from "../../src/service/conversations.js";
import { createTransport } from "../../src/service/transport.js";
import { HoldJournal } from "../../src/store/ledger/hold-journal.js";

const [front = "auto", key = "", threads = "1"] = process.argv.slice(2);
const threadCount = Number(threads);
const log = createLog({ level: "warn" });
const ENTRY = new URL("./timed-live-worker.js", import.meta.url);
const LIMIT = 100_000;

const engine = new LiveEngine({
  workerCount: 1,
  startWorker: (cells, onMessage) =>
    WorkerHandle.start({
      name: "timed-live-worker",
      entry: ENTRY,
      data: {
        protocolVersion: PROTOCOL_VERSION,
        intraOpThreads: 1,
        cells,
        pcm: null,
        rows: 1,
      },
      readyWithinMs: 10_000,
      stopWithinMs: 10_000,
      onMessage,
    }),
  contextSamples: 25_600,
  sampleRateHz: 16_000,
  clock: systemClock,
  log,
});

const folder = await mkdtemp(join(tmpdir(), "dauys-stub-"));
const { journal } = HoldJournal.open(join(folder, "usage-journal"), log);

const meter: UsageMeter = {
  requireCredit: async () => {},
  hold: async () => {
    throw new ServiceError("ENGINE_BUSY", "this stub serves only live sessions");
  },
  openSpeech: () => {
    throw new ServiceError("ENGINE_BUSY", "this stub serves only live sessions");
  },
  openLive: (reference, _samplesPerSecond, onFunds) => {
    queueMicrotask(() =>
      onFunds({
        limitSamples: Number.POSITIVE_INFINITY,
        beyond: new ServiceError("OUT_OF_CREDITS", "never"),
      }),
    );
    return {
      accepted: (samples) => journal.noteSoon(reference.id, samples),
      settle(_samples, onCharged) {
        journal.forget(reference.id);
        onCharged(0);
      },
    };
  },
};

const COMMON = { lang: "kk", notes: null, created: null };
const HEARING: HearingModel = {
  ...COMMON,
  name: "stub",
  task: "transcription",
  sample_rate: 16_000,
  family: "stub",
  alphabet: new Set(),
  writes_marks: false,
  live_partials: true,
};
/** A model that rejects everything; the catalog needs one. */
const SPEAKING: SpeakingModel = {
  ...COMMON,
  name: "stub-voice",
  task: "synthesis",
  sample_rate: 24_000,
  voices: [],
  default_voice: "",
  word_times: false,
  solver_steps: false,
};

const refuse = () => {
  throw new ServiceError("ENGINE_BUSY", "this stub serves only live sessions");
};
const metrics = new Metrics({ withProcess: false });
const conversations: Conversations = {
  catalog: { speaking: new ModelList([SPEAKING]), hearing: new ModelList([HEARING]) },
  requireCredit: async () => {},
  synthesis: refuse,
  transcription: refuse,
  expectFile: () => () => {},
  speaking: refuse,
  live: listen({
    recognizers: new Map([
      [
        HEARING.name,
        {
          manifest: { id: HEARING.name, sampleRateHz: HEARING.sample_rate },
          live: { take: () => ({ engine, granted: Promise.resolve(), release: () => {} }) },
        },
      ],
    ]),
    meter,
    metrics,
    log,
  }),
};

await engine.start();
const answers = await AnswerFiles.open({ folder, capacityBytes: 0, log });
const noKeys = () => Promise.reject(new ServiceError("AUTH_UNAVAILABLE", "this stub has no store"));
const signed = { clock: systemClock, uses: { use: noKeys }, endings: new KeyEndings() };
const urls = new UrlFetcher({ policy: new AddressPolicy([]) });
const transport = createTransport({
  front: front as FrontKind,
  ...(threadCount > 1 && {
    makeFront: (handlers: FrontHandlers) => new ThreadedFront({ threadCount, handlers, log }),
  }),
  conversations,
  metrics,
  keys: { find: async (raw) => (raw === key ? { keyId: "key", organizationId: "org", tier: "paid" } : null) },
  tokens: new StreamTokens({ ...signed, secret: randomBytes(32) }),
  secrets: new ClientSecrets({ ...signed, secret: randomBytes(32) }),
  log,
  idempotency: { claim: noKeys, isKnown: noKeys },
  reports: { key: noKeys, credits: noKeys, usage: noKeys },
  vocabularies: { find: async () => ({ hotwords: [], pronunciations: [] }), replace: noKeys },
  answers,
  speechBudget: new SpeechBudget(Number.POSITIVE_INFINITY),
  spoolDir: folder,
  urls,
  webhooks: urls,
  jobs: {
    ...{ submit: noKeys, isKnown: noKeys, find: noKeys, list: noKeys, end: noKeys, result: noKeys },
    ...{ webhookSecret: noKeys, rotateWebhookSecret: noKeys },
  },
  limitsOf: () => ({ synthesis: 0, files: 0, live: LIMIT }),
  // The real service derives this from its file descriptor limit.
  limits: { ...DEFAULT_FRONT_LIMITS, maxConnections: LIMIT },
  isReady: () => true,
});
console.log(await transport.listen("127.0.0.1", 0));
process.once("SIGTERM", async () => {
  await transport.close();
  await engine.stop();
  journal.close();
  answers.close();
  await rm(folder, { recursive: true, force: true });
});
