import { errorName, ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller, LiveConversation, LiveSink } from "../../core/ports/conversations.js";
import type { FrontSocket, SocketEvents } from "../../core/ports/front.js";
import { CLOSE_CODE } from "../../core/protocol/error-status.js";
import { GatheredAudio, MessageBudget } from "../front/shared/live-messages.js";
import { AudioIntake } from "./audio-intake.js";
import type { LiveTranslation, WireMessage } from "./dialects/dialect.js";
import { LateConversation } from "./late-conversation.js";
import {
  closeWith,
  floodClosing,
  LONGEST_TEXT,
  openSession,
  refuseSession,
  type SessionDeps,
  type SocketParts,
  sendAll,
} from "./session-socket.js";
import { SplitConversation } from "./split-conversation.js";

/** A client with more unread data is disconnected: finals are never dropped, so they would pile up. */
const MAX_UNREAD_BYTES = 1 << 20;
const NO_BYTES = new Uint8Array(0);

interface OpenSocket {
  readonly conversation: LiveConversation;
  readonly translation: LiveTranslation;
  readonly onFlood: () => void;
}

/**
 * Connects a socket with its live session: joins small messages, translates the client's dialect, and
 * disconnects clients that do not read.
 */
export class LiveSocket {
  readonly #parts: SocketParts;
  #intake: AudioIntake | null = null;
  readonly #socket: FrontSocket;
  readonly #log: Log;

  constructor(parts: SocketParts) {
    this.#parts = parts;
    this.#socket = parts.socket;
    this.#log = parts.log;
  }

  /**
   * Opens the session, or sends the error to the client.
   * @param onFlood called if the client sends too many messages of a kind that the front cannot count
   */
  start(
    deps: SessionDeps,
    caller: Caller,
    translation: LiveTranslation,
    onFlood: () => void = () => {},
  ): SocketEvents {
    try {
      const { session: conversation, closed } = openSession(
        this.#parts,
        deps,
        caller,
        { kind: "live", count: translation.channelCount ?? 1 },
        () => this.#begin(deps, caller, translation),
      );
      const decoders = deps.decoders ?? null;
      this.#intake = new AudioIntake(
        translation,
        decoders === null
          ? null
          : (form) =>
              decoders.open(caller.identity.organizationId, form, {
                pcm: (bytes) =>
                  this.#guarded(translation, () => this.#send(translation.binary(conversation, bytes))),
                failed: (error) => this.#refuse(translation, error),
              }),
      );
      this.#send(translation.opened?.() ?? []);
      return this.#eventsOf({ conversation, translation, onFlood }, this.#intake, closed);
    } catch (thrown) {
      return refuseSession(this.#parts, caller, thrown);
    }
  }

  #begin({ conversations }: SessionDeps, caller: Caller, translation: LiveTranslation): LiveConversation {
    const sink: LiveSink = {
      send: (message) => this.#send(translation.toClient(message)),
      finalized: () => this.#send(translation.finalized?.() ?? []),
      close: (code, reason) => {
        this.#intake?.close();
        this.#socket.close(code, reason);
      },
    };
    const { channelCount } = translation;
    const start = () => {
      // Messages may have changed the options meanwhile.
      const { options } = translation;
      const open = (own: LiveSink) => conversations.live(caller, options, own);
      return channelCount === undefined ? open(sink) : new SplitConversation(sink, channelCount, open);
    };
    return translation.startsLate === true ? new LateConversation(sink, start) : start();
  }

  #eventsOf(
    { conversation, translation, onFlood }: OpenSocket,
    intake: AudioIntake,
    closed: (code: number) => void,
  ): SocketEvents {
    const accept = (samples: Uint8Array) => {
      if (samples.length > 0) this.#send(translation.binary(conversation, samples));
    };
    const deliver = (bytes: Uint8Array) => this.#guarded(translation, () => accept(intake.samplesOf(bytes)));
    const audio = new GatheredAudio(deliver);
    const inOrder = (command: () => void) => {
      if (!intake.isDecoding) command();
      else intake.after(() => this.#guarded(translation, command));
    };
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
        inOrder(() => {
          if (text.length <= LONGEST_TEXT) this.#send(translation.text(conversation, text));
          else conversation.badMessage(`a text message must be at most ${LONGEST_TEXT} characters`);
        });
      },
      binary: (bytes) => {
        if (budget !== null) return conversation.badMessage("binary messages are not supported; send text");
        if (bytes.length > 0) return intake.isPacketed ? deliver(bytes) : audio.push(bytes);
        // In the dialects, an empty message is a command.
        flush();
        inOrder(() => this.#send(translation.binary(conversation, NO_BYTES)));
      },
      closed: (code) => {
        flush();
        intake.close();
        closed(code);
      },
    };
  }

  #closeFlooded(translation: LiveTranslation, onFlood: () => void): void {
    const { messages, code, reason } = floodClosing((error) => translation.toClient(error));
    sendAll(this.#socket, messages);
    this.#socket.close(code, reason);
    onFlood();
  }

  /** Catches errors here, because joined audio is delivered in a later turn, without a caller. */
  #guarded(translation: LiveTranslation, accept: () => void): void {
    try {
      accept();
    } catch (error) {
      if (error instanceof ServiceError) this.#refuse(translation, error);
      else {
        this.#intake?.close();
        this.#log.error({ err: error }, "live audio failed");
        this.#socket.close(CLOSE_CODE.INTERNAL, errorName("INTERNAL"));
      }
    }
  }

  /** Ends the session with an error. Audio accepted before is charged, as when the client leaves. */
  #refuse(translation: LiveTranslation, error: ServiceError): void {
    this.#log.warn({ code: error.code }, "live audio refused");
    this.#intake?.close();
    closeWith(this.#socket, error, (message) => translation.toClient(message));
  }

  #send(messages: readonly WireMessage[]): void {
    sendAll(this.#socket, messages);
    if (messages.length === 0 || this.#socket.bufferedBytes <= MAX_UNREAD_BYTES) return;
    this.#log.warn({ unreadBytes: this.#socket.bufferedBytes }, "live client does not read");
    this.#socket.terminate();
  }
}
