import type { ServedPart } from "../../../core/domain/served.js";
import type { ConcurrencyLimits, OrganizationTier } from "../../../core/domain/usage/concurrency.js";
import type { CreditPrice } from "../../../core/domain/usage/credit-price.js";
import type { Tariffs, UsageKind } from "../../../core/domain/usage/tariff.js";

/** `cold`: the next request loads the model. `down`: every worker was lost, requests are refused. */
export type EngineState = "cold" | "loading" | "warm" | "down" | "stopping";

export interface EngineStatus {
  readonly kind: UsageKind;
  readonly model: string;
  readonly state: EngineState;
  /** How long its last load took; null before the first. */
  readonly loadMs: number | null;
}

/** A model that is installed and can be asked for. */
interface InstalledModel {
  readonly name: string;
  readonly task: "synthesis" | "transcription";
  /** Language codes, with hyphens between. */
  readonly lang: string;
  readonly notes: string | null;
  readonly isDefault: boolean;
}

interface ServiceStatus {
  /** What `/ready` says. */
  readonly isReady: boolean;
  /** Of each model its engines, those of the defaults first. */
  readonly engines: readonly EngineStatus[];
  readonly models: readonly InstalledModel[];
  /** Ids of packages that were left out since they cannot be used. */
  readonly broken: readonly string[];
}

/** What a client of a live socket may send. */
interface LiveMessageLimits {
  readonly texts: number;
  readonly textsPerSecond: number;
  /** Of less than `smallBytes`. */
  readonly smallAudio: number;
  readonly smallAudioPerSecond: number;
  readonly smallBytes: number;
}

/** What the console tells people about the service that it belongs to; put together in `src/service`. */
export interface ServiceFacts {
  /** Parts of the interface that are at this address; others have another. */
  readonly serve: readonly ServedPart[];
  readonly tariffs: Tariffs;
  /** Null when the operator names no price in money. */
  readonly creditPrice: CreditPrice | null;
  /** An e-mail address or an https address of the operator, for those who want credits. */
  readonly contact: string | null;
  readonly concurrency: Readonly<Record<OrganizationTier, ConcurrencyLimits>>;
  readonly longestFileSeconds: number;
  readonly liveMessages: LiveMessageLimits;
  /** After so long without work an engine gives its model back; 0 never. */
  readonly modelIdleMs: number;
  status(): Promise<ServiceStatus>;
}
