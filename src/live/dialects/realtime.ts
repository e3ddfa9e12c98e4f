import { randomBytes } from "node:crypto";
import { LIVE_RATE_HZ } from "../../../core/domain/audio/frame.js";
import { StreamedPcm } from "../../../core/domain/audio/streamed-pcm.js";
import type { WavHeader } from "../../../core/domain/audio/wav.js";
import type { HearingModel, ModelList } from "../../../core/domain/catalog/catalog.js";
import { invalid, ServiceError } from "../../../core/domain/errors.js";
import type { LiveConversation, LiveWishes } from "../../../core/ports/conversations.js";
import { openAiError, openAiLiveError } from "../../../core/protocol/error-body.js";
import { shown } from "../../../core/protocol/fields.js";
import type { OrganizationDefaults } from "../../../core/protocol/organization-defaults.js";
import {
  appendedAudio,
  type ClientEvent,
  parseRealtimeEvent,
  REALTIME_CLIENT_TYPES,
  type RealtimeClientType,
  type UnsentEvent,
} from "../../../core/protocol/realtime-events.js";
import { parseRealtimeQuery } from "../../../core/protocol/realtime-query.js";
import {
  betaSessionObject,
  defaultRealtimeConfig,
  endpointingOf,
  hotWordsOf,
  REALTIME_PCM_HZ,
  type RealtimeConfig,
  sessionObject,
  updatedConfig,
} from "../../../core/protocol/realtime-session.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import {
  type Handshake,
  type LiveDialect,
  type LiveTranslation,
  realtimeCredential,
  unfitWav,
  type WireMessage,
} from "./dialect.js";
import { RealtimeTurns, type TurnRules } from "./realtime-turns.js";

const TELEPHONE_HZ = 8_000;
const ENCODINGS = { pcm16: "linear16", g711_ulaw: "mulaw", g711_alaw: "alaw" } as const;
/** Least audio that a commit needs, as in OpenAI's service. */
const LEAST_COMMIT_MS = 100;

/**
 * OpenAI's protocol for live transcription, in its current form and that of the beta.
 * @see https://platform.openai.com/docs/guides/realtime-transcription
 */
export const REALTIME_DIALECT: LiveDialect = {
  path: "/v1/realtime",
  work: "live",
  credential: realtimeCredential,
  refusalHeaders: () => ({}),
  refusal: (_query, error) => JSON.stringify({ event_id: eventId(randomId(), 0), ...toError(error) }),
  begin(query, _requestId, models, handshake) {
    const { model, ...defaults } = parseRealtimeQuery(query, models);
    const config = handshake.config ?? defaultRealtimeConfig(model, query.get("model"));
    return new RealtimeTranslation(config, models, { beta: betaOf(query, handshake), defaults });
  },
};

/** The beta names some events differently. They are used only if the client requests the beta. */
interface Beta {
  readonly isBeta: boolean;
  readonly isTranscription: boolean;
}

function betaOf(query: URLSearchParams, { request }: Handshake): Beta {
  const header = request.header("openai-beta") ?? "";
  const protocols = request.header("sec-websocket-protocol") ?? "";
  const isBeta = header.includes("realtime=v1") || protocols.includes("openai-beta.realtime-v1");
  return { isBeta, isTranscription: query.get("intent") === "transcription" };
}

class RealtimeTranslation implements LiveTranslation {
  readonly ignored: readonly string[] = [];
  /** False, because the client always specifies its format. */
  readonly mayBeFile = false;
  readonly startsLate = true;
  readonly #models: ModelList<HearingModel>;
  readonly #defaults: OrganizationDefaults;
  readonly #beta: Beta;
  readonly #id = randomId();
  readonly #turns: RealtimeTurns;
  #config: RealtimeConfig;
  #pcm: StreamedPcm;
  #eventCount = 0;
  /**
   * Seconds of audio received from the client. The session has received a few milliseconds less, which the
   * resampler holds back.
   */
  #heardSeconds = 0;
  /** Samples sent to the session since the last mark. */
  #unmarkedSamples = 0;

  constructor(
    config: RealtimeConfig,
    models: ModelList<HearingModel>,
    { beta, defaults }: { readonly beta: Beta; readonly defaults: OrganizationDefaults },
  ) {
    // The model may have been removed since the client secret was issued.
    models.require(config.model, "INVALID_REQUEST");
    this.#config = config;
    this.#models = models;
    this.#defaults = defaults;
    this.#beta = beta;
    this.#pcm = pcmOf(config);
    this.#turns = new RealtimeTurns(this.#id);
  }

  get options(): LiveWishes {
    return this.#wishesOf(this.#config);
  }

  beginWav(header: WavHeader): void {
    throw unfitWav(header, "no header here; send raw samples");
  }

  opened(): readonly WireMessage[] {
    const { isBeta, isTranscription } = this.#beta;
    const type = isBeta && isTranscription ? "transcription_session.created" : "session.created";
    return this.#render([{ type, session: this.#session() } as UnsentEvent]);
  }

  toClient(message: StreamServerMessage): readonly WireMessage[] {
    switch (message.type) {
      case "partial":
        return this.#render(this.#turns.partial(message, this.#rules));
      case "final":
        return this.#render(this.#turns.final(message, this.#rules));
      case "error":
        return this.#render([toError(message)]);
      case "ready":
      case "going_away":
      case "done":
        // OpenAI has no messages for these events. The close code reports the last two.
        return [];
    }
  }

  finalized(): readonly WireMessage[] {
    return this.#render(this.#turns.reached(this.#rules));
  }

  audioIn(text: string): Uint8Array | null {
    return appendedAudio(text);
  }

  binary(conversation: LiveConversation, bytes: Uint8Array): readonly WireMessage[] {
    this.#heardSeconds += bytes.length / bytesPerSecond(this.#config);
    const pcm = this.#pcm.push(bytes);
    if (pcm.length === 0) return [];
    this.#unmarkedSamples += pcm.length;
    conversation.audio(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength));
    return [];
  }

  text(conversation: LiveConversation, text: string): readonly WireMessage[] {
    conversation.keepalive();
    const event = parseRealtimeEvent(text);
    if (event === null) return this.#render([rejected("a message must be a JSON object with a type", {})]);
    try {
      return this.#render(this.#handle(conversation, event));
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      const { type, code, param, message } = openAiError(thrown);
      const { eventId } = event;
      return this.#render([{ type: "error", error: { type, code, message, param, event_id: eventId } }]);
    }
  }

  #handle(conversation: LiveConversation, event: ClientEvent): readonly UnsentEvent[] {
    switch (event.type as RealtimeClientType) {
      case "session.update":
        return [this.#updated("session.updated", event)];
      case "transcription_session.update":
        return [this.#updated("transcription_session.updated", event)];
      case "input_audio_buffer.commit":
        return this.#commit(conversation, event);
      case "input_audio_buffer.clear":
        return this.#clear(conversation);
      case "input_audio_buffer.append":
        throw invalid("audio must be base64", "audio");
      default:
        throw invalid(
          `type must be one of ${REALTIME_CLIENT_TYPES.join(", ")}, received ${shown(event.type)}; ` +
            "sessions here only transcribe",
          "type",
        );
    }
  }

  #updated(type: "session.updated" | "transcription_session.updated", { members }: ClientEvent): UnsentEvent {
    const config = updatedConfig(this.#config, members["session"], this.#models);
    if (this.#heardSeconds > 0) this.#requireSameEngine(config);
    if (config.format !== this.#config.format) this.#pcm = pcmOf(config);
    this.#config = config;
    return { type, session: this.#session() } as UnsentEvent;
  }

  /** The transcription session has started, so its options cannot change any more. */
  #requireSameEngine(config: RealtimeConfig): void {
    const [now, wanted] = [this.options, this.#wishesOf(config)];
    if (JSON.stringify(now) === JSON.stringify(wanted)) return;
    throw invalid(
      "transcription.model, its keywords and turn_detection cannot change after the first audio; open another socket",
      "session",
    );
  }

  #commit(conversation: LiveConversation, { eventId }: ClientEvent): readonly UnsentEvent[] {
    // Sums of seconds are not exact, so round.
    const openMs = Math.round(this.#turns.openSeconds(this.#heardSeconds) * 1_000_000) / 1_000;
    if (openMs < LEAST_COMMIT_MS) {
      const message =
        `input audio buffer too small: a commit needs ${LEAST_COMMIT_MS} ms of audio, ` +
        `received ${openMs.toFixed(2)} ms`;
      return [rejected(message, { code: "input_audio_buffer_commit_empty", eventId })];
    }
    // This audio is newer than the last mark, so the session will confirm this mark.
    this.#mark(conversation);
    return this.#turns.commit(this.#heardSeconds, this.#rules);
  }

  #clear(conversation: LiveConversation): readonly UnsentEvent[] {
    // Without audio since the last mark, the buffer is empty and the session would not confirm another mark.
    if (this.#unmarkedSamples > 0) {
      this.#mark(conversation);
      this.#turns.clear(this.#heardSeconds);
    }
    return [{ type: "input_audio_buffer.cleared" }];
  }

  #mark(conversation: LiveConversation): void {
    this.#unmarkedSamples = 0;
    conversation.finalize();
  }

  #wishesOf(config: RealtimeConfig): LiveWishes {
    return {
      model: config.model,
      ...endpointingOf(config),
      partials: true,
      words: config.logprobs,
      hotWords: hotWordsOf(config, this.#models),
      ...this.#defaults,
    };
  }

  get #rules(): TurnRules {
    const { turnDetection, logprobs } = this.#config;
    return { detectsTurns: turnDetection !== null, logprobs, isBeta: this.#beta.isBeta };
  }

  #session(): object {
    const id = `sess_${this.#id}`;
    return this.#beta.isBeta ? betaSessionObject(this.#config, id) : sessionObject(this.#config, id);
  }

  #render(events: readonly UnsentEvent[]): readonly WireMessage[] {
    return events.map(({ type, ...rest }) =>
      JSON.stringify({ type, event_id: eventId(this.#id, this.#eventCount++), ...rest }),
    );
  }
}

function pcmOf({ format }: RealtimeConfig): StreamedPcm {
  const fromHz = format === "pcm16" ? REALTIME_PCM_HZ : TELEPHONE_HZ;
  return new StreamedPcm(ENCODINGS[format], fromHz, LIVE_RATE_HZ);
}

function bytesPerSecond({ format }: RealtimeConfig): number {
  return format === "pcm16" ? 2 * REALTIME_PCM_HZ : TELEPHONE_HZ;
}

/** IDs of a session's events and items share a prefix that no other session uses. */
function randomId(): string {
  return randomBytes(8).toString("hex");
}

function eventId(session: string, count: number): string {
  return `event_${session}${count.toString(36).padStart(6, "0")}`;
}

function rejected(
  message: string,
  { code = "invalid_request", eventId = null }: { readonly code?: string; readonly eventId?: string | null },
): UnsentEvent {
  const error = { type: "invalid_request_error", code, message, param: null, event_id: eventId };
  return { type: "error", error };
}

/** Converts an error of the session, by its name. */
function toError({ code, detail, retryable }: Extract<StreamServerMessage, { readonly type: "error" }>) {
  const error = { ...openAiLiveError({ code, retryable }), message: detail, param: null, event_id: null };
  return { type: "error", error } as const;
}
