/**
 * A pattern for JSON. An object must have at least these members; everything else must be equal. Some objects
 * have a special meaning: `is` specifies a type, and `only` lists all allowed members.
 */
export type Pattern =
  | string
  | number
  | boolean
  | { readonly is: "string" | "number" | "integer" | "boolean" | "list" }
  | { readonly only: Readonly<Record<string, Pattern>> }
  | { readonly [member: string]: Pattern };

/** A requirement: where it is documented, and what it demands. */
export interface Requirement {
  /** Stable identifier such as `live-7` or `speech-3`, so that reports can be compared. */
  readonly id: string;
  /** Page in `docs/`, and heading within it. */
  readonly page: "live-protocol.md" | "api-speech.md" | "api-errors.md";
  readonly section: string;
  readonly requirement: string;
}

/** How a session authenticates. Wrong credentials are made up; the real key is never in a query. */
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

/** One action of the client of a live session. */
export type LiveStep =
  /** Sends the clip, cut into messages of `chunkBytes`; with `asWav`, including its header. */
  | { readonly send: "clip"; readonly chunkBytes: number; readonly asWav?: boolean }
  | { readonly send: "silence"; readonly seconds: number; readonly chunkBytes: number }
  /** Sends bytes, given in hexadecimal digits, as one binary message. */
  | { readonly send: "bytes"; readonly hex: string }
  | { readonly send: "zeros"; readonly bytes: number }
  | { readonly send: "text"; readonly text: string; readonly times?: number; readonly repeat?: number }
  /** Waits at most 20 s for a message. If it does not arrive, the trace shows it. */
  | { readonly await: Pattern };

/** Steps of one live session. A session ends when the server closes the socket. */
export interface LiveScript {
  readonly path?: string;
  readonly credential?: Credential;
  readonly query?: Readonly<Record<string, string>>;
  readonly steps: readonly LiveStep[];
  /** Sends audio at the speed of speech. */
  readonly isPaced?: boolean;
  /** Runs only on request, because it takes a minute or costs most of the credits. */
  readonly isLong?: boolean;
  /** Runs alone, after all others, because it uses up a limit. */
  readonly isLast?: boolean;
}

/** A rule that a session must follow; `which` selects among the messages of a type. */
export type LiveCheck =
  | { readonly closed: number }
  | { readonly notClosed: number }
  /** Status of a rejected handshake, whose body must have `detail` and nothing else. */
  | { readonly refused: number; readonly detail?: string }
  | { readonly protocol: string }
  | { readonly message: Pattern; readonly which: "some" | "each" | "none"; readonly of: string }
  | { readonly rule: LiveRule }
  /** The finals must have the same text as those of another session. */
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
  /** Aborts the response after this many frames. */
  readonly cancelAfter?: number;
  /** Runs after this other request. */
  readonly after?: string;
}

export type SpeechCheck =
  | { readonly status: number }
  /** An error with this status, whose body must have `detail` and nothing else. */
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
