import type { ServedPart } from "../../core/domain/served.js";
import type { Log } from "../../core/observe/log.js";
import type { AccountReports } from "../../core/ports/account-reports.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Conversations } from "../../core/ports/conversations.js";
import type { Idempotency } from "../../core/ports/idempotency.js";
import type { KeyStore } from "../../core/ports/key-store.js";
import type { Tracer } from "../../core/ports/span.js";
import type { SpoolRoom } from "../../core/ports/spool-room.js";
import type { UrlSource } from "../../core/ports/url-source.js";
import type { HttpOperation } from "../../core/protocol/endpoints.js";
import type { AnswerFiles } from "./answer-files.js";
import type { Exchange } from "./exchange.js";
import type { KeyEndings } from "./key-endings.js";
import type { OrganizationSlots, RunningWork } from "./running-work.js";
import type { StreamTokens } from "./signed-credentials.js";
import type { SpeechBudget } from "./speech-answer.js";

/** GET also answers HEAD. `/*` at the end of a path matches everything below, `:name` one segment. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Whether pages of other origins get no CORS headers. */
  readonly isSameOrigin?: boolean;
  readonly handle: Handler;
}

/** Ends the exchange, or throws a `ServiceError` that becomes the response. */
type Handler = (exchange: Exchange, params: PathParams) => Promise<void>;

export type PathParams = Readonly<Record<string, string>>;

/** Handlers for operations of the endpoint table. */
export type Handlers<Operation extends HttpOperation = HttpOperation> = Readonly<Record<Operation, Handler>>;

export interface RouteDeps {
  /** Everything if absent. */
  readonly serve?: readonly ServedPart[];
  readonly conversations: Conversations;
  readonly keys: KeyStore;
  readonly endings: KeyEndings;
  readonly log: Log;
  readonly tracer?: Tracer;
  readonly clock: Clock;
  readonly running: RunningWork;
  readonly tokens: StreamTokens;
  readonly slots: OrganizationSlots;
  /** An existing folder for uploads, which are deleted when their requests end. */
  readonly spoolDir: string;
  /** Limits the disk space of uploads; unlimited if absent. */
  readonly room?: SpoolRoom;
  /** Limits the memory of unsent speech. */
  readonly speechBudget: SpeechBudget;
  readonly idempotency: Idempotency;
  readonly reports: AccountReports;
  /** Long responses kept for retries. */
  readonly answers: AnswerFiles;
  /** Fetches the audio behind `url=`. */
  readonly urls: UrlSource;
  /** Whether the service can work, for `/ready`. */
  readonly isReady: () => boolean | Promise<boolean>;
}
