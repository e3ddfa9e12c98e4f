import type { CloseEvent } from "ws";

export type Message = Readonly<Record<string, unknown>> & { readonly type?: unknown };

/** Events of a live session, in order. */
export type TraceEntry =
  | { readonly sent: "audio" | "close" | "text"; readonly messageCount: number }
  | { readonly received: Message; readonly isBinary: boolean };

/** The record of one live session, which all its cases check. */
export interface Trace {
  readonly entries: readonly TraceEntry[];
  /** Null if the socket did not open. */
  readonly protocol: string | null;
  /** Null if the handshake was accepted. */
  readonly refusal: { readonly status: number; readonly body: string } | null;
  /** Null if the server did not close the socket before the deadline. */
  readonly closeCode: CloseEvent["code"] | null;
  /** Samples sent before `close`. */
  readonly sampleCount: number;
}

/** The record of one speech request. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** True if the client canceled the response. */
  readonly isCanceled: boolean;
  /** The text that was sent. */
  readonly text: string;
}

export function messagesOf({ entries }: Trace, type?: string): readonly Message[] {
  const messages = entries.flatMap((entry) => ("received" in entry ? [entry.received] : []));
  return type === undefined ? messages : messages.filter((message) => message.type === type);
}
