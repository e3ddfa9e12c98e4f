/**
 * A pattern for JSON: an object must have at least these members, everything else must be equal. Some objects
 * are patterns themselves: `is` names a type, `only` lists all members there may be.
 */
export type Pattern =
  | string
  | number
  | boolean
  | { readonly is: "string" | "number" | "integer" | "boolean" | "list" }
  | { readonly only: Readonly<Record<string, Pattern>> }
  | { readonly [member: string]: Pattern };

/** Where a requirement is documented, and what it says. */
export interface Requirement {
  /** `live-7`, `speech-3`: stable, so that reports can be compared. */
  readonly id: string;
  /** Page of `docs/` and heading in it. */
  readonly page: "live-protocol.md" | "api-speech.md" | "api-errors.md";
  readonly section: string;
  readonly requirement: string;
}

/** How a session shows who opens it. Wrong credentials are made up; the real key is never in a query. */
export type Credential =
  | "header"
  | "subprotocol"
  | "token-in-query"
  | "token-in-subprotocol"
  | "used-token"
  | "unknown-token"
  | "wrong-header"
  | "wrong-subprotocol"
  | "none";

/** One thing that the client of a live session does. */
export type LiveStep =
  /** The clip, cut into messages of `chunkBytes`; `asWav` with its header. */
  | { readonly send: "clip"; readonly chunkBytes: number; readonly asWav?: boolean }
  | { readonly send: "silence"; readonly seconds: number; readonly chunkBytes: number }
  /** Bytes in hexadecimal digits, as one binary message. */
  | { readonly send: "bytes"; readonly hex: string }
  | { readonly send: "zeros"; readonly bytes: number }
  | { readonly send: "text"; readonly text: string; readonly times?: number; readonly repeat?: number }
  /** Waits for a message, for at most 20 s: its absence shows in the trace. */
  | { readonly await: Pattern };

/** Steps of one live session. Sessions end when the server closes the socket. */
export interface LiveScript {
  readonly path?: string;
  readonly credential?: Credential;
  readonly query?: Readonly<Record<string, string>>;
  readonly steps: readonly LiveStep[];
  /** Audio at the speed of speech. */
  readonly isPaced?: boolean;
  /** Runs only on request: it takes a minute, or costs most of the credits. */
  readonly isLong?: boolean;
  /** Runs after all others, alone: it uses up a limit. */
  readonly isLast?: boolean;
}

/** A rule that a session must obey; `which` selects among the messages of its type. */
export type LiveCheck =
  | { readonly closed: number }
  | { readonly notClosed: number }
  /** The status of a refused handshake, whose body has `detail` and nothing else. */
  | { readonly refused: number; readonly detail?: string }
  | { readonly protocol: string }
  | { readonly message: Pattern; readonly which: "some" | "each" | "none"; readonly of: string }
  | { readonly rule: LiveRule }
  /** The same text in finals as another session. */
  | { readonly sameFinalsAs: string }
  | { readonly sameSecondsAs: string };

export type LiveRule =
  | "opened"
  | "ready first"
  | "text frames"
  | "binary frames"
  | "final received"
  | "final once"
  | "utterances count up"
  | "partials before their final"
  | "stable text kept"
  | "times in order"
  | "three decimals"
  | "words inside their final"
  | "done last"
  | "exact seconds"
  | "final before close"
  | "kept up or too fast";

export interface LiveCase extends Requirement {
  readonly session: string;
  readonly checks: readonly LiveCheck[];
}

export interface SpeechScript {
  readonly credential?: "header" | "wrong-header" | "none";
  readonly query?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts after this many frames. */
  readonly cancelAfter?: number;
  /** Runs after this request. */
  readonly after?: string;
}

export type SpeechCheck =
  | { readonly status: number }
  /** An error with this status, whose body has `detail` and nothing else. */
  | { readonly refused: number; readonly error: string; readonly detail?: string }
  | { readonly header: string; readonly startsWith: string }
  | { readonly rule: SpeechRule }
  | { readonly sameBytesAs: string };

export type SpeechRule =
  | "whole frames"
  | "playable frames"
  | "a frame a sentence"
  | "no words"
  | "words in each frame"
  | "words match the text"
  | "short first frame"
  | "canceled";

export interface SpeechCase extends Requirement {
  readonly request: string;
  readonly checks: readonly SpeechCheck[];
}
