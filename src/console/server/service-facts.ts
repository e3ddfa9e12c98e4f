import type { ServedPart } from "../../../core/domain/served.js";
import type { ConcurrencyLimits, OrganizationTier } from "../../../core/domain/usage/concurrency.js";
import type { CreditPrice } from "../../../core/domain/usage/credit-price.js";
import type { Tariffs, UsageKind } from "../../../core/domain/usage/tariff.js";

/** `cold`: the next request loads the model. `down`: every worker was lost, so requests are rejected. */
export type EngineState = "cold" | "loading" | "warm" | "down" | "stopping";

export interface EngineStatus {
  readonly kind: UsageKind;
  readonly model: string;
  readonly state: EngineState;
  /** Duration of the last load; null before the first. */
  readonly loadMs: number | null;
}

interface InstalledModel {
  readonly name: string;
  readonly task: "synthesis" | "transcription";
  /** Language codes, joined by hyphens. */
  readonly lang: string;
  readonly notes: string | null;
  readonly isDefault: boolean;
}

interface ServiceStatus {
  /** Same as `/ready`. */
  readonly isReady: boolean;
  /** Engines by model, default models first. */
  readonly engines: readonly EngineStatus[];
  readonly models: readonly InstalledModel[];
  /** IDs of packages that cannot be used. */
  readonly broken: readonly string[];
}

/** Limits on the messages that a client may send over a live socket. */
interface LiveMessageLimits {
  readonly texts: number;
  readonly textsPerSecond: number;
  /** Number of audio messages smaller than `smallBytes`. */
  readonly smallAudio: number;
  readonly smallAudioPerSecond: number;
  readonly smallBytes: number;
}

/** Facts about the service that the console shows; assembled in `src/service`. */
export interface ServiceFacts {
  /** Parts of the API served at this address. */
  readonly serve: readonly ServedPart[];
  readonly tariffs: Tariffs;
  /** Null if credits have no price in money. */
  readonly creditPrice: CreditPrice | null;
  /** The operator's e-mail or https address, for users who need credits. */
  readonly contact: string | null;
  readonly concurrency: Readonly<Record<OrganizationTier, ConcurrencyLimits>>;
  readonly longestFileSeconds: number;
  readonly liveMessages: LiveMessageLimits;
  /** Idle time after which an engine releases its model; 0 for never. */
  readonly modelIdleMs: number;
  status(): Promise<ServiceStatus>;
}
