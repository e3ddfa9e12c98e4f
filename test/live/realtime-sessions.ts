import { once } from "node:events";
import { after, before, describe } from "node:test";
import { WebSocket } from "ws";
import type { LiveConversation, LiveSink, LiveWishes } from "../../core/ports/conversations.js";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";
import { eventually } from "../support/eventually.js";
import { RealtimeEvents, type ReceivedEvent } from "../support/realtime-events.js";

interface Session {
  readonly options: LiveWishes;
  readonly sink: LiveSink;
  readonly heard: string[];
  samples: number;
}

export const TRANSCRIPTION = "conversation.item.input_audio_transcription";
export const COMMIT = '{"type":"input_audio_buffer.commit"}';
export const CLEAR = '{"type":"input_audio_buffer.clear"}';
/** 100 ms. */
export const PIECE = new Uint8Array(4_800);
export const MANUAL = update({ audio: { input: { turn_detection: null } } });

export interface Realtime {
  readonly front: (typeof FRONTS)[number];
  readonly running: RunningTransport;
  opened(query?: string, headers?: Record<string, string>): ReturnType<typeof openSocket>;
}

/** Registers `tests` for each front, with sessions that record their calls. */
export function describeRealtime(name: string, tests: (realtime: Realtime) => void): void {
  for (const front of FRONTS) {
    describe(`${name} on ${front}`, { concurrency: 1 }, () => {
      let running: RunningTransport;
      let sessions: Session[] = [];

      before(async () => {
        running = await startTransport(front);
        running.conversations.live = (_caller, options, sink) => {
          const session: Session = { options, sink, heard: [], samples: 0 };
          sessions.push(session);
          return recording(session);
        };
      });
      after(() => running.stop());
      tests({
        front,
        get running() {
          return running;
        },
        opened(query, headers) {
          sessions = [];
          return openSocket({ running, sessions }, query, headers);
        },
      });
    });
  }
}

/** Opens a socket whose first audio adds a session to `sessions`. */
async function openSocket(
  { running, sessions }: { readonly running: RunningTransport; readonly sessions: readonly Session[] },
  query = "intent=transcription",
  headers: Record<string, string> = {},
) {
  const socket = new WebSocket(`ws://127.0.0.1:${running.port}/v1/realtime?${query}`, {
    headers: { authorization: `Bearer ${GOOD_KEY}`, ...headers },
  });
  const events = new RealtimeEvents(socket);
  const closed = once(socket, "close") as Promise<[number, Buffer]>;
  await once(socket, "open");
  const started = async () => {
    await eventually("a session", () => sessions.length === 1);
    return sessions[0]!;
  };
  /** Every earlier message has been handled when this unknown one is answered. */
  const handled = async () => {
    socket.send('{"type":"probe","event_id":"probe"}');
    const isAnswer = ({ error }: ReceivedEvent) => error?.event_id === "probe";
    await eventually("the answer", () => events.all.some(isAnswer));
    events.all.splice(events.all.findIndex(isAnswer), 1);
  };
  return { socket, events, closed, started, handled, sessions };
}

/** Events as lines of JSON, with ids by order of appearance. */
export function withoutIds(events: readonly ReceivedEvent[]): string {
  const ids = new Map<string, string>();
  const named = (id: string) => {
    const kind = id.slice(0, id.indexOf("_"));
    if (!ids.has(id))
      ids.set(id, `${kind}_${[...ids.values()].filter((one) => one.startsWith(kind)).length}`);
    return ids.get(id)!;
  };
  const lines = events.map((event) => `${JSON.stringify(event)}\n`);
  return lines.join("").replace(/\b(?:event|sess|item)_[0-9a-f]{16}[0-9a-z]{0,12}/g, named);
}

export function update(session: object): string {
  return JSON.stringify(sessionOf(session));
}

export function sessionOf(session: object) {
  return { type: "session.update", session };
}

export function partial(utterance: number, text: string, stable: number) {
  return { type: "partial", utterance, text, start: 0.4, end: 0.9, stable } as const;
}

export function final(utterance: number, text: string, start: number, end: number) {
  return { type: "final", utterance, text, start, end } as const;
}

/** A session that records its calls. */
function recording(session: Session): LiveConversation {
  const { heard, sink } = session;
  return {
    audio(bytes) {
      session.samples += bytes.length / 2;
    },
    finalize: () => void heard.push("finalize"),
    close: () => void heard.push("close"),
    keepalive() {},
    badMessage: (detail) => sink.send({ type: "error", code: "bad_message", detail, retryable: false }),
    disconnected() {},
    goingAway: () => sink.close(1012, "going away"),
    unauthorized() {},
  };
}
