import { randomBytes } from "node:crypto";
import { BilledSynthesis } from "../../actors/billing/billed-synthesis.js";
import { BilledTranscription } from "../../actors/billing/billed-transcription.js";
import { PrepaidMeter } from "../../actors/billing/prepaid-meter.js";
import { LiveSession, type LiveSessionObserver } from "../../actors/live/session.js";
import type { Engine, Lease } from "../../actors/residency/resident-model.js";
import { planSynthesis } from "../../actors/synthesis/plan.js";
import { SentenceCache } from "../../actors/synthesis/sentence-cache.js";
import { SynthesisSession } from "../../actors/synthesis/session.js";
import { type SpeakObserver, SpeakSession } from "../../actors/synthesis/speak-session.js";
import type { TranscriptionEngine } from "../../actors/transcription/engine.js";
import { readableTranscript } from "../../actors/transcription/readable-transcript.js";
import { TranscriptionSession } from "../../actors/transcription/session.js";
import { joinedChannels } from "../../actors/transcription/split-channels.js";
import type { Catalog, HearingModel, ModelList } from "../../core/domain/catalog/catalog.js";
import type {
  FileLength,
  FileTranscript,
  TranscribedSegment,
} from "../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../core/domain/errors.js";
import { isPunctuated, type ReadingOptions, readWords } from "../../core/domain/text/display/reading.js";
import { creditsFor } from "../../core/domain/usage/tariff.js";
import type { Log } from "../../core/observe/log.js";
import type { Metrics } from "../../core/observe/metrics.js";
import { systemClock } from "../../core/ports/clock.js";
import type { Caller, Conversations, FileWishes, LiveWishes } from "../../core/ports/conversations.js";
import type { LiveDecoder } from "../../core/ports/live-decoder.js";
import { inSpan, NO_SPAN } from "../../core/ports/span.js";
import type { SpoolRoom } from "../../core/ports/spool-room.js";
import type { Synthesizer } from "../../core/ports/synthesizer.js";
import type { TranscriptReader } from "../../core/ports/transcript-reader.js";
import type { UsageMeter, UsageOrigin, UsageReference } from "../../core/ports/usage-meter.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { GrowingSentence, SentenceEnds } from "../../native/models/punctuation/sentence-ends.js";
import { withDecodedFile } from "../input/media/file-decoder.js";
import type { Config } from "../settings/settings.js";
import { traceHolds, traceLive, traceSpeech } from "./conversation-traces.js";
import type { Engines, SynthesizerEngine } from "./engines.js";
import { expectFiles } from "./expected-files.js";

export interface ConversationParts {
  readonly engines: Engines;
  readonly meter: UsageMeter;
  readonly config: Config;
  readonly catalog: Catalog;
  readonly spoolFolder: string;
  readonly room: SpoolRoom;
  readonly reader: TranscriptReader;
  readonly metrics: Metrics;
  readonly log: Log;
}

interface SpeakingParts extends ConversationParts {
  /** Shared by both ways to speak; null without a synthesizer. */
  readonly cache: SentenceCache | null;
}

/** Creates the conversations. One function below builds the stack of each path, from the outside in. */
export function makeConversations(given: ConversationParts): Conversations {
  const { engines, meter, catalog, config, metrics } = given;
  const parts = { ...given, cache: sentenceCacheFor(engines, config, metrics) };
  return {
    catalog,
    requireCredit: (caller, kind) => {
      // A file's response may be a stored one, which needs no slot: its hold checks the limit instead.
      const mostAtOnce = kind === "live" ? caller.mostAtOnce : undefined;
      const { organizationId, keyId } = caller.identity;
      return meter.requireCredit(organizationId, kind, mostAtOnce, keyId);
    },
    synthesis: speak(parts),
    speaking: speakPieces(parts),
    transcription: transcribe(parts),
    expectFile: expectFiles(() => loadedEngines(engines), systemClock),
    live: listen({ ...parts, recognizers: engines.recognizers }),
  };
}

/** `BilledSynthesis` charges, `SynthesisSession` cuts sentences, the cache or a leased model has pieces. */
function speak(parts: SpeakingParts): Conversations["synthesis"] {
  return async (caller, request, delivery) => {
    const model = parts.catalog.speaking.require(request.model);
    const options = { ...synthesisOptions(parts, caller, model.name), delivery };
    const plan = await planSynthesis(request, model);
    const session = new SynthesisSession(plan, options);
    return new BilledSynthesis(meterOf(parts, caller), usageReference(caller), session);
  };
}

/** `SpeakSession` cuts sentences as their text arrives, and charges one turn at a time. */
function speakPieces(parts: SpeakingParts): Conversations["speaking"] {
  const { metrics } = parts;
  const observer: SpeakObserver = {
    opened: () => metrics.speakSessions.inc(),
    firstAudio: (afterMs) => metrics.speakFirstAudioMs.observe(afterMs),
    interrupted: () => metrics.speakInterruptions.inc(),
    failed: (code) => metrics.errors.inc({ code }),
    ended: () => metrics.speakSessions.dec(),
  };
  return (caller, wishes, sink) => {
    const model = parts.catalog.speaking.require(wishes.model);
    const { log, ...synthesis } = synthesisOptions(parts, caller, model.name);
    const meter = meterOf(parts, caller);
    const reference = usageReference(caller);
    const meterOfTurn = (turn: number) => meter.openSpeech({ ...reference, id: `${reference.id}-${turn}` });
    const tariff = parts.config.tariffs.synthesis;
    const priceOf = (characters: number) => creditsFor({ units: characters, unitsPerSecond: 1 }, tariff);
    const work = { synthesis, meterOf: meterOfTurn, priceOf };
    return new SpeakSession({ model, wishes, ...work, sink, log, observer });
  };
}

function synthesisOptions(parts: SpeakingParts, caller: Caller, modelId: string) {
  const { engines, cache, metrics, log } = parts;
  const span = caller.span ?? NO_SPAN;
  const observer = metrics.observeSpeech(modelId);
  return {
    synthesizer: pieceSpeaker(engineOf(engines.synthesizers, modelId), cache, caller),
    clock: systemClock,
    observer: span.isTraced ? traceSpeech(span, observer) : observer,
    log: log.child({ requestId: caller.requestId }),
  };
}

/** Returns cached pieces, and synthesizes all others with a leased model. */
function pieceSpeaker(
  { synthesis }: SynthesizerEngine,
  cache: SentenceCache | null,
  { identity, span = NO_SPAN, onModelWait }: Caller,
): Synthesizer {
  const make: Synthesizer["speak"] = (job, signal, options) =>
    inSpan(span.child("piece"), (piece) =>
      synthesis.use(signal, (engine) => engine.speak(job, signal, { ...options, span: piece }), onModelWait),
    );
  if (cache === null) return { speak: make };
  // Response times must not reveal what other organizations have synthesized.
  const scope = identity.organizationId;
  return {
    speak: (job, signal, options = {}) =>
      cache.pieceOf({ scope, job, signal, ...options }, () => make(job, signal, options)),
  };
}

/** `BilledTranscription` charges, `TranscriptionSession` stops and times, a leased model transcribes. */
function transcribe(parts: ConversationParts): Conversations["transcription"] {
  const { metrics } = parts;
  const unbilled = unbilledTranscription(parts);
  return (caller, path, wishes) => {
    const start = (onLength: OnLength) => unbilled(caller, path, wishes, onLength);
    const conversation = new BilledTranscription(meterOf(parts, caller), usageReference(caller), start);
    conversation.transcript.then(metrics.observeFile, () => {});
    return conversation;
  };
}

function loadedEngines({ recognizers }: Engines): readonly TranscriptionEngine[] {
  return [...recognizers.values()].flatMap(({ transcription }) => transcription.warmEngine ?? []);
}

type OnLength = (length: FileLength) => Promise<void>;

/** Transcribes a file without a charge; `onLength` is called before any work, and its failure ends it. */
export function unbilledTranscription(parts: ConversationParts) {
  const { engines, catalog, spoolFolder, room, reader } = parts;
  return (caller: Caller, path: string, wishes: FileWishes, onLength: OnLength): TranscriptionSession => {
    const { model, hotWords, reading = null, speakers, onProgress, onSegments, isLater } = wishes;
    const { channels = "mix" } = wishes;
    const { transcription } = engineOf(engines.recognizers, model);
    const file = { path, spoolFolder, room, channels };
    const span = caller.span ?? NO_SPAN;
    const shared = { onLength, onProgress, isLater, hotWords, speakers };
    const readingOptions = reading === null ? null : readingBy(catalog.hearing, model, reading);
    // Only a file's single text is read while it grows.
    const growing =
      readingOptions !== null && channels === "mix" && isPunctuated(readingOptions)
        ? (reader.begin?.() ?? null)
        : null;
    const hearSegments = (segments: readonly TranscribedSegment[]) => {
      growing?.add(segments.flatMap(({ words }) => words));
      onSegments?.(segments);
    };
    const read = async (transcript: FileTranscript) =>
      readingOptions === null
        ? transcript
        : await readableTranscript(transcript, readingOptions, growing ?? reader);
    return new TranscriptionSession(systemClock, (signal) =>
      inSpan(span.child("file"), (work) =>
        withDecodedFile(engines.decoder, file, signal, (wavPath) => {
          work.event("decoded to WAV");
          return transcription.use(
            signal,
            async (engine) => {
              const options = { ...shared, span: work };
              return channels === "mix"
                ? [await engine.transcribe(wavPath, signal, { ...options, onSegments: hearSegments })]
                : await engine.transcribeChannels(wavPath, signal, options);
            },
            caller.onModelWait,
          );
        }).then(async (transcripts) => {
          const readable = await Promise.all(transcripts.map(read));
          return channels === "mix" ? readable[0]! : joinedChannels(readable);
        }),
      ),
    );
  };
}

/** A recogniser for live sessions; its models may not be loaded. */
interface ListeningModel {
  readonly manifest: Pick<RecognizerManifest, "id" | "sampleRateHz">;
  readonly live: { take(): Lease<Engine & LiveDecoder> };
}

export interface ListenParts {
  /** By id. */
  readonly recognizers: ReadonlyMap<string, ListeningModel>;
  readonly meter: UsageMeter;
  /** Without it, every model's text gets our punctuation. */
  readonly catalog?: Pick<Catalog, "hearing">;
  /** Without it, readable text has figures and capitals, but no punctuation. */
  readonly reader?: TranscriptReader;
  readonly metrics: Metrics;
  readonly log: Log;
}

const UNREAD: TranscriptReader = { read: async (task) => readWords(task, null) };

/**
 * A live session on a leased engine. While the models load, its audio waits in its ring, and `ready` is sent
 * once there is a worker.
 */
export function listen({
  recognizers,
  meter,
  catalog,
  reader = UNREAD,
  metrics,
  log,
}: ListenParts): Conversations["live"] {
  /** Loaded for the first session that needs it. */
  let ends: SentenceEnds | null = null;
  const readingParts = () => {
    ends ??= new SentenceEnds();
    return { reader, sentence: new GrowingSentence(ends) };
  };
  return (caller, options, sink) => {
    const { span = NO_SPAN } = caller;
    const counting = countLive(metrics, caller.endpoint);
    const { manifest, live } = engineOf(recognizers, options.model);
    const lease = live.take();
    try {
      const session = new LiveSession({
        sessionId: `ses_${randomBytes(12).toString("hex")}`,
        requestId: caller.requestId,
        modelId: manifest.id,
        sampleRateHz: manifest.sampleRateHz,
        options: withReading(options, catalog?.hearing),
        decoder: lease.engine,
        ...((options.reading ?? null) !== null && { reading: readingParts() }),
        meter: span.isTraced ? traceHolds(span, meter) : meter,
        organizationId: caller.identity.organizationId,
        origin: usageOrigin(caller),
        ...(caller.mostAtOnce !== undefined && { mostAtOnce: caller.mostAtOnce }),
        sink,
        log: log.child({ requestId: caller.requestId }),
        observer: span.isTraced ? traceLive(span, counting) : counting,
        ...(span.isTraced && { span }),
        onEnded: () => lease.release(),
      });
      lease.granted.catch((error: ServiceError) => session.unavailable(error));
      return session;
    } catch (error) {
      lease.release();
      throw error;
    }
  };
}

/** Keeps the punctuation of a model that writes it. */
function readingBy(
  models: ModelList<HearingModel> | undefined,
  model: string,
  reading: ReadingOptions,
): ReadingOptions {
  return { ...reading, isWritten: models?.find(model)?.writes_marks === true };
}

function withReading(options: LiveWishes, models: ModelList<HearingModel> | undefined): LiveWishes {
  const { model, reading } = options;
  return reading === undefined ? options : { ...options, reading: readingBy(models, model, reading) };
}

function countLive(metrics: Metrics, path: string): LiveSessionObserver {
  return {
    opened: () => {
      metrics.liveSessions.inc();
      metrics.liveSessionsOpened.inc({ path });
    },
    received: (sampleCount) => metrics.liveReceived(sampleCount),
    sent(message) {
      metrics.liveSent(message.type);
      if (message.type === "error") metrics.errors.inc({ code: message.code });
    },
    disconnected: () => metrics.liveSessions.dec(),
  };
}

/** Never throws for models of the catalog, which has the same packages. */
function engineOf<E>(engines: ReadonlyMap<string, E>, id: string): E {
  const engine = engines.get(id);
  if (engine === undefined) throw new ServiceError("UNKNOWN_MODEL", `no engine for the model ${id}`);
  return engine;
}

/** Returns the meter; work paid for under an idempotency key is not charged again. */
function meterOf({ meter, config }: ConversationParts, { paid, span = NO_SPAN }: Caller): UsageMeter {
  const traced = span.isTraced ? traceHolds(span, meter) : meter;
  return paid === undefined ? traced : new PrepaidMeter(traced, config.tariffs, paid);
}

/** A manifest identifies the weights, because it lists the hash of every file. */
function sentenceCacheFor(
  { synthesizers }: Engines,
  { sentenceCacheBytes }: Config,
  metrics: Metrics,
): SentenceCache | null {
  if (sentenceCacheBytes === 0) return null;
  const manifests = [...synthesizers].map(([id, { manifest }]) => [id, JSON.stringify(manifest)] as const);
  return new SentenceCache({
    weights: new Map(manifests),
    capacityBytes: sentenceCacheBytes,
    observer: metrics.observeSentenceCache,
  });
}

/** One request, one charge. */
function usageReference(caller: Caller): UsageReference {
  const { requestId, identity, mostAtOnce } = caller;
  const origin = usageOrigin(caller);
  return {
    id: requestId,
    organizationId: identity.organizationId,
    origin,
    ...(mostAtOnce !== undefined && { mostAtOnce }),
  };
}

function usageOrigin({ identity, endpoint }: Caller): UsageOrigin {
  return { keyId: identity.keyId, endpoint };
}
