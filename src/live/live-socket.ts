import { errorName, ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller, LiveConversation } from "../../core/ports/conversations.js";
import type { FrontSocket, SocketEvents } from "../../core/ports/front.js";
import { CLOSE_CODE } from "../../core/protocol/error-status.js";
import { GatheredAudio } from "../front/shared/live-messages.js";
import { AudioIntake } from "./audio-intake.js";
import type { LiveTranslation, WireMessage } from "./dialects/dialect.js";
import {
  closeWith,
  LONGEST_TEXT,
  openSession,
  refuseSession,
  type SessionDeps,
  type SocketParts,
  sendAll,
} from "./session-socket.js";

/** A client that leaves more unread is cut: finals are never dropped, so they would pile up. */
const MAX_UNREAD_BYTES = 1 << 20;

/**
 * Connects one socket with its live session: joins small messages, translates the client's dialect, and cuts
 * a client that does not read.
 */
export class LiveSocket {
  readonly #parts: SocketParts;
  readonly #socket: FrontSocket;
  readonly #log: Log;

  constructor(parts: SocketParts) {
    this.#parts = parts;
    this.#socket = parts.socket;
    this.#log = parts.log;
  }

  /** Opens the session, or sends the client the error. */
  start(deps: SessionDeps, caller: Caller, translation: LiveTranslation): SocketEvents {
    try {
      const { session, closed } = openSession(this.#parts, deps, caller, "live", () =>
        deps.conversations.live(caller, translation.options, {
          send: (message) => this.#send(translation.toClient(message)),
          close: (code, reason) => this.#socket.close(code, reason),
        }),
      );
      return this.#eventsOf(session, translation, closed);
    } catch (thrown) {
      return refuseSession(this.#parts, caller, thrown);
    }
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
        if (text.length <= LONGEST_TEXT) this.#send(translation.text(conversation, text));
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

  /** Catches errors here, because joined audio is delivered in a separate turn, without a caller. */
  #guarded(translation: LiveTranslation, accept: () => void): void {
    try {
      accept();
    } catch (error) {
      if (error instanceof ServiceError) {
        this.#log.warn({ code: error.code }, "live audio refused");
        // Audio that was accepted before is charged, as when the client leaves.
        closeWith(this.#socket, error, (message) => translation.toClient(message));
      } else {
        this.#log.error({ err: error }, "live audio failed");
        this.#socket.close(CLOSE_CODE.INTERNAL, errorName("INTERNAL"));
      }
    }
  }

  #send(messages: readonly WireMessage[]): void {
    sendAll(this.#socket, messages);
    if (messages.length === 0 || this.#socket.bufferedBytes <= MAX_UNREAD_BYTES) return;
    this.#log.warn({ unreadBytes: this.#socket.bufferedBytes }, "live client does not read");
    this.#socket.terminate();
  }
}
