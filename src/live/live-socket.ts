import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller, LiveConversation } from "../../core/ports/conversations.js";
import type { FrontSocket, SocketEvents } from "../../core/ports/front.js";
import { CLOSE_CODE, HTTP_STATUS, isRetryable, publicDetail } from "../../core/protocol/error-status.js";
import { GatheredAudio } from "../front/shared/live-messages.js";
import type { RouteDeps } from "../http/route.js";
import { AudioIntake } from "./audio-intake.js";
import type { ErrorMessage, LiveTranslation, WireMessage } from "./dialects/dialect.js";

/** A client that leaves this much unread is cut off: finals are never dropped, so they would pile up. */
const MAX_UNREAD_BYTES = 1 << 20;
const KEY_ENDED = "the API key has ended";
/** Text messages are a few words; a longer one is not even parsed. */
const LONGEST_TEXT = 64 * 1024;

/** What a live socket needs of the service. */
export type LiveSocketDeps = Pick<RouteDeps, "conversations" | "endings" | "running" | "slots">;

/**
 * Between one socket and its live session: gathers small messages, speaks the client's dialect, cuts off a client that
 * does not read, and gives the organization's slot back.
 */
export class LiveSocket {
  readonly #socket: FrontSocket;
  readonly #log: Log;
  readonly #toRefusal: (error: ErrorMessage) => WireMessage;

  constructor(socket: FrontSocket, log: Log, toRefusal: (error: ErrorMessage) => WireMessage) {
    this.#socket = socket;
    this.#log = log;
    this.#toRefusal = toRefusal;
  }

  /** Opens the session, or tells the client why there is none. */
  start(deps: LiveSocketDeps, caller: Caller, translation: LiveTranslation): SocketEvents {
    let conversation: LiveConversation;
    let release = () => {};
    try {
      if (deps.endings.hasEnded(caller.identity)) throw new ServiceError("KEY_INVALID", KEY_ENDED);
      // Taken only now: a client that leaves during the upgrade is never heard of again.
      release = deps.slots.take(caller.identity, "live");
      conversation = deps.conversations.live(caller, translation.options, {
        send: (message) => this.#send(translation.toClient(message)),
        close: (code, reason) => this.#socket.close(code, reason),
      });
    } catch (thrown) {
      release();
      const error = asServiceError(thrown);
      caller.span?.end(errorName(error.code));
      this.#log.warn({ err: serverFault(error), code: error.code }, "live session did not start");
      return this.refuse(error);
    }
    const over = deps.running.add({
      goingAway: (deadlineSeconds) => conversation.goingAway(deadlineSeconds),
      stop: () => this.#socket.close(CLOSE_CODE.SHUTTING_DOWN, "going away"),
    });
    const unwatch = deps.endings.watch(caller.identity, () => {
      this.#log.info("live session ends with its key");
      conversation.unauthorized(KEY_ENDED);
    });
    const intake = new AudioIntake(translation);
    const hear = (samples: Uint8Array) => {
      if (samples.length > 0) this.#send(translation.binary(conversation, samples));
    };
    const audio = new GatheredAudio((bytes) =>
      this.#guarded(translation, () => hear(intake.samplesOf(bytes))),
    );
    const flush = () => {
      audio.flush();
      hear(intake.rest());
    };
    return {
      text: (text) => {
        flush();
        if (text.length <= LONGEST_TEXT) translation.text(conversation, text);
        else conversation.badMessage(`a text message must be at most ${LONGEST_TEXT} characters`);
      },
      binary: (bytes) => {
        if (bytes.length > 0) return audio.push(bytes);
        // Nothing to gather, but in one of the dialects it means something.
        flush();
        this.#send(translation.binary(conversation, bytes));
      },
      closed: (code) => {
        flush();
        over();
        unwatch();
        release();
        conversation.disconnected();
        caller.span?.set({ "dauys.close_code": code });
        caller.span?.end();
        this.#log.info({ closeCode: code }, "live socket closed");
      },
    };
  }

  /** Tells why there is no session, and closes. */
  refuse(error: ServiceError): SocketEvents {
    const { code } = error;
    const detail = publicDetail(error);
    this.#send([
      this.#toRefusal({ type: "error", code: errorName(code), detail, retryable: isRetryable(code) }),
    ]);
    this.#socket.close(CLOSE_CODE[code], errorName(code));
    return { text: () => {}, binary: () => {}, closed: () => {} };
  }

  /** What was gathered is handed on in a turn of its own: there no caller catches what is thrown. */
  #guarded(translation: LiveTranslation, hear: () => void): void {
    try {
      hear();
    } catch (error) {
      if (error instanceof ServiceError) this.#refuseAudio(error, translation);
      else {
        this.#log.error({ err: error }, "live audio failed");
        this.#socket.close(CLOSE_CODE.INTERNAL, errorName("INTERNAL"));
      }
    }
  }

  /** The client is told and the socket closed; what was accepted before is charged, as when the client leaves. */
  #refuseAudio(error: ServiceError, translation: LiveTranslation): void {
    const { code } = error;
    const detail = publicDetail(error);
    this.#log.warn({ code }, "live audio refused");
    this.#send(
      translation.toClient({ type: "error", code: errorName(code), detail, retryable: isRetryable(code) }),
    );
    this.#socket.close(CLOSE_CODE[code], errorName(code));
  }

  #send(messages: readonly WireMessage[]): void {
    for (const message of messages) {
      if (typeof message === "string") this.#socket.sendText(message);
      else this.#socket.sendBinary(message);
    }
    if (messages.length === 0 || this.#socket.bufferedBytes <= MAX_UNREAD_BYTES) return;
    this.#log.warn({ unreadBytes: this.#socket.bufferedBytes }, "live client does not read");
    this.#socket.terminate();
  }
}

/** Only our own failures are worth a stack in the log. */
export function serverFault(error: ServiceError): ServiceError | undefined {
  return HTTP_STATUS[error.code] >= 500 ? error : undefined;
}
