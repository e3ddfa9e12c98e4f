import { join } from "node:path";
import { everyModel } from "../../core/domain/catalog/catalog.js";
import { servesTask } from "../../core/domain/served.js";
import type { Log } from "../../core/observe/log.js";
import { systemClock } from "../../core/ports/clock.js";
import type { Conversations } from "../../core/ports/conversations.js";
import { DEFAULT_FRONT_LIMITS, type FrontHandlers } from "../../core/ports/front.js";
import type { BrokenPackage } from "../../native/models/find-packages.js";
import { consoleApi } from "../console/server/api.js";
import { pageRoutes } from "../console/server/pages-routes.js";
import type { PasswordCost } from "../console/server/passwords.js";
import type { ConsoleDeps } from "../console/server/route.js";
import { sampleRoutes } from "../console/server/sample-routes.js";
import type { ServiceFacts } from "../console/server/service-facts.js";
import { connectionsWithin, descriptorLimit, openDescriptors } from "../front/shared/descriptors.js";
import { LIVE_MESSAGE_LIMITS } from "../front/shared/live-messages.js";
import { ThreadedFront } from "../front/threads/threaded-front.js";
import { TrustedProxies } from "../http/client-address.js";
import { ClientSecrets } from "../http/client-secrets.js";
import { AnswerFiles } from "../http/kept-answers.js";
import { KeyEndings } from "../http/key-endings.js";
import type { Route } from "../http/router.js";
import { SpeechBudget } from "../http/running-work.js";
import { StreamTokens, TemporaryKeys } from "../http/signed-credentials.js";
import { LiveDecoders } from "../input/media/live-decoders.js";
import { AddressPolicy } from "../input/url/address-policy.js";
import { UrlFetcher } from "../input/url/url-fetcher.js";
import type { Config } from "../settings/settings.js";
import type { Base, Owned, ThreadEntries } from "./base.js";
import { type Engines, engineStatuses, isGivenUp, MAX_FILE_SECONDS } from "./engines.js";
import { type JobParts, openJobs } from "./jobs.js";
import { type Mailing, openMail, warnOfLowBalances } from "./mail.js";
import { createTransport, type Transport } from "./transport.js";
import { type Repeat, watchEndings } from "./watch-endings.js";

export interface PublicSideParts extends Base {
  readonly entries: ThreadEntries;
  readonly passwordCost: PasswordCost;
  readonly repeat: Repeat;
  readonly engines: Engines;
  readonly conversations: Conversations;
  /** Transcribes the files of jobs. */
  readonly transcribe: JobParts["transcribe"];
  /** Transcriptions of requests, which are counted. */
  readonly requests: JobParts["requests"];
  readonly broken: readonly BrokenPackage[];
}

export interface PublicSide {
  readonly transport: Transport;
  /** Null if the main thread is the front. */
  readonly threads: ThreadedFront | null;
}

/** Creates the API and the console, without listening yet. */
export async function openPublicSide(parts: PublicSideParts, owned: Owned): Promise<PublicSide> {
  const { config, log, store, meter, metrics, tracer, disk, room, spoolFolder, engines, conversations } =
    parts;
  const answers = await openAnswers(parts, owned);
  const speechBudget = new SpeechBudget(config.speechMemoryBytes);
  metrics.observeHeldSpeech(() => speechBudget.takenBytes);
  const limits = { ...DEFAULT_FRONT_LIMITS, maxConnections: maxConnections(config, log) };
  let threads: ThreadedFront | null = null;
  const makeFront = (handlers: FrontHandlers) => {
    const { frontThreads: threadCount } = config;
    threads = new ThreadedFront({ threadCount, handlers, limits, log, entry: parts.entries.front });
    return threads;
  };
  const { temporaryKeys, endings } = openKeys(parts, owned);
  const mailing = openMail(config, log, owned);
  const { lowBalanceCredits: limitCredits } = config;
  if (mailing !== null && limitCredits > 0) {
    const { lowBalances } = store;
    const stop = warnOfLowBalances({ lowBalances, mailing, limitCredits, repeat: parts.repeat, log });
    owned.add("watch of low balances", async () => stop());
  }
  const isReady = async () => !isGivenUp(engines) && (await disk.hasRoomFor(0)) && (await store.canServe());
  const urls = new UrlFetcher({ policy: new AddressPolicy(config.urlFetchAllow) });
  const jobs = openJobs({ ...parts, urls }, owned);
  const signed = { clock: store.sharedClock, uses: store.tokenUses, endings };
  const transport = createTransport({
    front: config.front,
    serve: config.serve,
    limits,
    ...(config.frontThreads > 1 && { makeFront }),
    conversations,
    keys: temporaryKeys,
    tokens: new StreamTokens({ ...signed, secret: store.secretFor("stream tokens") }),
    secrets: new ClientSecrets({ ...signed, secret: store.secretFor("client secrets") }),
    endings,
    extraRoutes: consoleRoutes(parts, { temporaryKeys, endings, isReady, mailing }),
    isReady,
    spoolDir: spoolFolder,
    room,
    speechBudget,
    idempotency: store.startIdempotency(meter.serviceId),
    answers,
    reports: store.accountReports,
    vocabularies: store.vocabularies,
    urls,
    decoders: openLiveDecoders(parts, owned),
    jobs,
    webhooks: urls,
    limitsOf: ({ tier }) => config.concurrency[tier],
    metrics,
    tracer,
    log,
  });
  owned.add("transport", () => transport.close());
  return { transport, threads };
}

/** Opens the storage of long responses that are kept for retries. */
async function openAnswers({ config, store, disk, log }: Base, owned: Owned): Promise<AnswerFiles> {
  const answers = await AnswerFiles.open({
    folder: join(config.dataDir, "answers"),
    capacityBytes: config.keptAnswersBytes,
    owners: await store.ownersOfLongAnswers(),
    disk,
    log,
  });
  owned.add("kept answers", async () => answers.close());
  return answers;
}

/** Returns the decoders of live WebM, Ogg and Opus, which start when needed; null if none may run. */
function openLiveDecoders({ config, metrics, log }: Base, owned: Owned): LiveDecoders | null {
  if (config.liveDecoders === 0 || !config.serve.includes("live")) return null;
  const observer = metrics.observeLiveDecoders;
  const decoders = new LiveDecoders({ limit: config.liveDecoders, log, observer });
  owned.add("live decoders", async () => decoders.close());
  return decoders;
}

/** Opens the keys of the store and the playground, and the record of keys that have ended. */
function openKeys({ store, repeat, log }: PublicSideParts, owned: Owned) {
  const endings = new KeyEndings(store.sharedClock);
  const temporaryKeys = new TemporaryKeys({
    keys: store.keys,
    secret: store.secretFor("playground keys"),
    sharedClock: store.sharedClock,
    clock: systemClock,
    places: store.places,
    endings,
  });
  const unwatch = watchEndings({ store, endings, repeat, log });
  owned.add("watch of ended keys", async () => unwatch());
  return { temporaryKeys, endings };
}

function consoleRoutes(
  { config, store, engines, conversations, broken, passwordCost, log }: PublicSideParts,
  shared: Pick<ConsoleDeps, "temporaryKeys" | "endings"> & {
    readonly isReady: () => Promise<boolean>;
    readonly mailing: Mailing | null;
  },
): readonly Route[] {
  const { temporaryKeys, endings, isReady, mailing } = shared;
  const { catalog } = conversations;
  const served = everyModel(catalog).filter(({ task }) => servesTask(task, config.serve));
  const models = served.map(({ name, task, lang, notes }) => {
    const isDefault = name === catalog.speaking.default.name || name === catalog.hearing.default.name;
    return { name, task, lang, notes, isDefault };
  });
  const facts: ServiceFacts = {
    serve: config.serve,
    tariffs: config.tariffs,
    creditPrice: config.creditPrice,
    contact: config.operatorContact,
    concurrency: config.concurrency,
    longestFileSeconds: MAX_FILE_SECONDS,
    liveMessages: LIVE_MESSAGE_LIMITS,
    modelIdleMs: config.modelIdleMs,
    status: async () => ({
      isReady: await isReady(),
      engines: engineStatuses(engines),
      models,
      broken: broken.map(({ id }) => id),
    }),
  };
  const deps: ConsoleDeps = {
    store: store.console,
    topUps: store.vouchers,
    mailing: mailing === null ? null : { ...mailing, resets: store.passwordResets },
    temporaryKeys,
    endings,
    proxies: new TrustedProxies(config.trustedProxies),
    facts,
    passwordCost,
    clock: systemClock,
    log,
  };
  const speaking = [...engines.synthesizers.values()].map(({ folder, manifest }) => {
    return { name: manifest.id, folder, voices: manifest.voices.map(({ name }) => name) };
  });
  return [...consoleApi(deps), ...pageRoutes(), ...sampleRoutes(speaking)];
}

/** Returns how many connections the process's descriptors allow, or fewer if the setting says so. */
function maxConnections(config: Config, log: Log): number {
  const limit = descriptorLimit();
  const wanted = config.maxConnections;
  if (limit === null) return wanted ?? DEFAULT_FRONT_LIMITS.maxConnections;
  const allowed = connectionsWithin(limit, openDescriptors() ?? 0);
  if (wanted === null || wanted <= allowed) return wanted ?? allowed;
  log.warn({ wanted, allowed, limit }, "MAX_CONNECTIONS exceeds the limit on open files");
  return allowed;
}
