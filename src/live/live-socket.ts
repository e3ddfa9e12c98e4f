import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller, LiveConversation } from "../../core/ports/conversations.js";
import type { FrontSocket, SocketEvents } from "../../core/ports/front.js";
import { CLOSE_CODE, HTTP_STATUS, isRetryable, publicDetail } from "../../core/protocol/error-status.js";
import { GatheredAudio } from "../front/shared/live-messages.js";
import type { RouteDeps } from "../http/router.js";
import { AudioIntake } from "./audio-intake.js";
import type { ErrorMessage, LiveTranslation, WireMessage } from "./dialects/dialect.js";

/** A client that leaves more unread is cut: finals are never dropped, so they would pile up. */
const MAX_UNREAD_BYTES = 1 << 20;
const KEY_ENDED = "the API key has ended";
/** Valid text messages are short; longer ones are not parsed. */
const LONGEST_TEXT = 64 * 1024;

export type LiveSocketDeps = Pick<RouteDeps, "conversations" | "endings" | "running" | "slots">;

/**
 * Connects one socket with its live session: joins small messages, translates the client's dialect, cuts a
 * client that does not read, and releases the organization's slot.
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

  /** Opens the session, or sends the client the error. */
  start(deps: LiveSocketDeps, caller: Caller, translation: LiveTranslation): SocketEvents {
    let conversation: LiveConversation;
    let release = () => {};
    try {
      if (deps.endings.hasEnded(caller.identity)) throw new ServiceError("KEY_INVALID", KEY_ENDED);
      // Not during the upgrade: nothing reports a client that leaves before the socket opens.
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
    return this.#eventsOf(conversation, translation, (closeCode) => {
      over();
      unwatch();
      release();
      conversation.disconnected();
      caller.span?.set({ "dauys.close_code": closeCode });
      caller.span?.end();
      this.#log.info({ closeCode }, "live socket closed");
    });
  }

  #eventsOf(
    conversation: LiveConversation,
    translation: LiveTranslation,
    closed: (code: number) => void,
  ): SocketEvents {
    const intake = new AudioIntake(translation);
    const accept = (samples: Uint8Array) => {
      if (samples.length > 0) this.#send(translation.binary(conversation, samples));
    };
    const audio = new GatheredAudio((bytes) =>
      this.#guarded(translation, () => accept(intake.samplesOf(bytes))),
    );
    const flush = () => {
      audio.flush();
      accept(intake.rest());
    };
    return {
      text: (text) => {
        flush();
        if (text.length <= LONGEST_TEXT) translation.text(conversation, text);
        else conversation.badMessage(`a text message must be at most ${LONGEST_TEXT} characters`);
      },
      binary: (bytes) => {
        if (bytes.length > 0) return audio.push(bytes);
        // An empty message is a command in the dialects.
        flush();
        this.#send(translation.binary(conversation, bytes));
      },
      closed: (code) => {
        flush();
        closed(code);
      },
    };
  }

  /** Sends the reason why there is no session, and closes. */
  refuse(error: ServiceError): SocketEvents {
    this.#closeWith(error, (message) => [this.#toRefusal(message)]);
    return { text: () => {}, binary: () => {}, closed: () => {} };
  }

  /** Catches errors here, because joined audio is delivered in a separate turn, without a caller. */
  #guarded(translation: LiveTranslation, accept: () => void): void {
    try {
      accept();
    } catch (error) {
      if (error instanceof ServiceError) {
        this.#log.warn({ code: error.code }, "live audio refused");
        // Audio that was accepted before is charged, as when the client leaves.
        this.#closeWith(error, (message) => translation.toClient(message));
      } else {
        this.#log.error({ err: error }, "live audio failed");
        this.#socket.close(CLOSE_CODE.INTERNAL, errorName("INTERNAL"));
      }
    }
  }

  #closeWith(error: ServiceError, render: (message: ErrorMessage) => readonly WireMessage[]): void {
    const { code } = error;
    const name = errorName(code);
    const detail = publicDetail(error);
    this.#send(render({ type: "error", code: name, detail, retryable: isRetryable(code) }));
    this.#socket.close(CLOSE_CODE[code], name);
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

/** Returns the error if it is our own failure: only those are logged with a stack. */
export function serverFault(error: ServiceError): ServiceError | undefined {
  return HTTP_STATUS[error.code] >= 500 ? error : undefined;
}
