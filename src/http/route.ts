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

/** One path and method; HEAD is answered by GET. A path that ends in `/*` takes everything below it, `:name` any one segment. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Pages of other origins are not let in; else every page may call. */
  readonly isSameOrigin?: boolean;
  readonly handle: Handler;
}

/** Ends the exchange, or throws a `ServiceError` that becomes its answer. */
type Handler = (exchange: Exchange, params: PathParams) => Promise<void>;

/** What stands in a path at its `:name`s. */
export type PathParams = Readonly<Record<string, string>>;

/** The handlers of some operations of the endpoint table, or of all. */
export type Handlers<Operation extends HttpOperation = HttpOperation> = Readonly<Record<Operation, Handler>>;

/** What routes are made of. */
export interface RouteDeps {
  /** What the service serves; everything when absent. */
  readonly serve?: readonly ServedPart[];
  readonly conversations: Conversations;
  readonly keys: KeyStore;
  readonly endings: KeyEndings;
  readonly log: Log;
  /** Where requests are traced. */
  readonly tracer?: Tracer;
  readonly clock: Clock;
  readonly running: RunningWork;
  readonly tokens: StreamTokens;
  readonly slots: OrganizationSlots;
  /** An existing folder for uploads; what is written there is deleted when its request ends. */
  readonly spoolDir: string;
  /** How much of the disk uploads may take; without bounds when it is not said. */
  readonly room?: SpoolRoom;
  /** How much memory unsent speech may take. */
  readonly speechBudget: SpeechBudget;
  readonly idempotency: Idempotency;
  /** Credits and usage, for the organization's keys. */
  readonly reports: AccountReports;
  /** Long answers that may be asked for again. */
  readonly answers: AnswerFiles;
  /** Where audio named by `url=` comes from. */
  readonly urls: UrlSource;
  /** Whether the service can do its work; told to orchestrators by `/ready`. */
  readonly isReady: () => boolean | Promise<boolean>;
}
