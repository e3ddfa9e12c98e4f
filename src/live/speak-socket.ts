import type { Caller, SpeakConversation } from "../../core/ports/conversations.js";
import type { SocketEvents } from "../../core/ports/front.js";
import type { RouteDeps } from "../http/router.js";
import type { SpeakTranslation } from "./dialects/dialect.js";
import {
  LONGEST_TEXT,
  openSession,
  refuseSession,
  type SessionDeps,
  type SocketParts,
  sendAll,
} from "./session-socket.js";

/** Sending pauses while more than this is unread: five seconds at the default rate. */
const MOST_UNREAD_BYTES = 256 * 1024;
/** How often an unread socket is checked, and after how long its client is disconnected. */
const LOOK_MS = 20;
const STALLED_MS = 60_000;
/**
 * Upper bound on the samples that a session holds: a minute ahead of the client, plus the pieces being
 * synthesized.
 */
const MOST_HELD_BYTES = 6 * 2 ** 20;

export type SpeakDeps = SessionDeps & Pick<RouteDeps, "speechBudget">;

/** Connects a socket with its speaking session, and sends no faster than the client reads. */
export class SpeakSocket {
  readonly #parts: SocketParts;
  #isClosed = false;

  constructor(parts: SocketParts) {
    this.#parts = parts;
  }

  /** Waits while the client reads slowly; disconnects one that reads nothing for a minute. */
  start(deps: SpeakDeps, caller: Caller, translation: SpeakTranslation): SocketEvents {
    const { socket } = this.#parts;
    try {
      const { session, closed } = openSession(this.#parts, deps, caller, { kind: "synthesis" }, () => {
        const share = deps.speechBudget.take(caller.identity.organizationId, MOST_HELD_BYTES);
        try {
          return { ...this.#open(deps, caller, translation), share };
        } catch (error) {
          share.release();
          throw error;
        }
      });
      sendAll(socket, translation.opened());
      return this.#eventsOf(session.conversation, translation, (code) => {
        this.#isClosed = true;
        closed(code);
        session.share.release();
      });
    } catch (thrown) {
      return refuseSession(this.#parts, caller, thrown);
    }
  }

  #open(deps: SpeakDeps, caller: Caller, translation: SpeakTranslation) {
    const { socket } = this.#parts;
    const conversation = deps.conversations.speaking(caller, translation.wishes, {
      send: (message, receipt) => sendAll(socket, translation.toClient(message, receipt)),
      sound: (pcm, isLast, place) => sendAll(socket, translation.sound(pcm, isLast, place)),
      ready: () => this.#ready(),
      close: (code, reason) => socket.close(code, reason),
    });
    return {
      conversation,
      disconnected: () => conversation.disconnected(),
      goingAway: (deadlineSeconds: number) => {
        sendAll(socket, translation.goingAway?.(deadlineSeconds) ?? []);
        conversation.goingAway();
      },
      unauthorized: (detail: string) => conversation.unauthorized(detail),
    };
  }

  #eventsOf(
    conversation: SpeakConversation,
    translation: SpeakTranslation,
    closed: (code: number) => void,
  ): SocketEvents {
    return {
      text: (text) => {
        if (text.length <= LONGEST_TEXT) translation.text(conversation, text);
        else conversation.badMessage(`a text message must be at most ${LONGEST_TEXT} characters`);
      },
      binary: () => translation.binary(conversation),
      closed,
    };
  }

  /** Waits while the client reads slowly. A client that reads nothing for a minute is disconnected. */
  async #ready(): Promise<void> {
    const { socket, log } = this.#parts;
    let unread = socket.bufferedBytes;
    let progressAtMs = performance.now();
    while (!this.#isClosed && socket.bufferedBytes > MOST_UNREAD_BYTES) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      const left = socket.bufferedBytes;
      if (left < unread) progressAtMs = performance.now();
      unread = left;
      if (performance.now() - progressAtMs < STALLED_MS) continue;
      log.warn({ unreadBytes: left }, "speaking client does not read");
      socket.terminate();
      return;
    }
  }
}
