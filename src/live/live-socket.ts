import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller, LiveConversation, LiveSink } from "../../core/ports/conversations.js";
import type { FloodClosing, FrontSocket, SocketEvents } from "../../core/ports/front.js";
import { CLOSE_CODE, HTTP_STATUS, isRetryable, publicDetail } from "../../core/protocol/error-status.js";
import { FLOOD_DETAIL, GatheredAudio, MessageBudget } from "../front/shared/live-messages.js";
import type { RouteDeps } from "../http/router.js";
import { AudioIntake } from "./audio-intake.js";
import type { ErrorMessage, LiveTranslation, WireMessage } from "./dialects/dialect.js";
import { LateConversation } from "./late-conversation.js";

/** A client that leaves more unread is cut: finals are never dropped, so they would pile up. */
const MAX_UNREAD_BYTES = 1 << 20;
const KEY_ENDED = "the API key has ended";
/** Valid text messages are short; longer ones are not parsed. */
const LONGEST_TEXT = 64 * 1024;

const FLOOD = "too_many_messages";

interface OpenSocket {
  readonly conversation: LiveConversation;
  readonly translation: LiveTranslation;
  readonly onFlood: () => void;
}

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

  /**
   * Opens the session, or sends the client the error.
   * @param onFlood called if the client sends too many messages that the front could not count as such
   */
  start(
    deps: LiveSocketDeps,
    caller: Caller,
    translation: LiveTranslation,
    onFlood: () => void = () => {},
  ): SocketEvents {
    let conversation: LiveConversation;
    let release = () => {};
    try {
      if (deps.endings.hasEnded(caller.identity)) throw new ServiceError("KEY_INVALID", KEY_ENDED);
      // Not during the upgrade: nothing reports a client that leaves before the socket opens.
      release = deps.slots.take(caller.identity, "live");
      conversation = this.#begin(deps, caller, translation);
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
    this.#send(translation.opened?.() ?? []);
    return this.#eventsOf({ conversation, translation, onFlood }, (closeCode) => {
      over();
      unwatch();
      release();
      conversation.disconnected();
      caller.span?.set({ "dauys.close_code": closeCode });
      caller.span?.end();
      this.#log.info({ closeCode }, "live socket closed");
    });
  }

  #begin({ conversations }: LiveSocketDeps, caller: Caller, translation: LiveTranslation): LiveConversation {
    const sink: LiveSink = {
      send: (message) => this.#send(translation.toClient(message)),
      finalized: () => this.#send(translation.finalized?.() ?? []),
      close: (code, reason) => this.#socket.close(code, reason),
    };
    const start = () => conversations.live(caller, translation.options, sink);
    return translation.startsLate === true ? new LateConversation(sink, start) : start();
  }

  #eventsOf(
    { conversation, translation, onFlood }: OpenSocket,
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
    const budget = translation.audioIn === undefined ? null : new MessageBudget();
    return {
      text: (text) => {
        const bytes = translation.audioIn?.(text) ?? null;
        if (bytes !== null) return bytes.length > 0 ? audio.push(bytes) : undefined;
        flush();
        const verdict = budget?.text(text.length) ?? "take";
        if (verdict === "flood") this.#closeFlooded(translation, onFlood);
        if (verdict !== "take") return;
        if (text.length <= LONGEST_TEXT) this.#send(translation.text(conversation, text));
        else conversation.badMessage(`a text message must be at most ${LONGEST_TEXT} characters`);
      },
      binary: (bytes) => {
        if (budget !== null) return conversation.badMessage("binary messages are not supported: send text");
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

  #closeFlooded(translation: LiveTranslation, onFlood: () => void): void {
    const { messages, code, reason } = floodClosing(translation);
    this.#send(messages);
    this.#socket.close(code, reason);
    onFlood();
  }

  /** Sends why there is no session, and closes. */
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

/** Returns what a client with too many messages gets before its socket closes. */
export function floodClosing(translation: LiveTranslation): FloodClosing {
  return {
    messages: translation.toClient({ type: "error", code: FLOOD, detail: FLOOD_DETAIL, retryable: false }),
    code: CLOSE_CODE.INVALID_REQUEST,
    reason: FLOOD,
  };
}

/** Returns the error if it is our own failure: only those are logged with a stack. */
export function serverFault(error: ServiceError): ServiceError | undefined {
  return HTTP_STATUS[error.code] >= 500 ? error : undefined;
}
