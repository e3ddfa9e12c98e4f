interface InstalledModel {
  /** Same as `name`. */
  readonly id: string;
  readonly object: "model";
  /** Creation time of the weights, Unix seconds; 0 if unknown. */
  readonly created: number;
  readonly owned_by: "dauys";
  readonly name: string;
  /** Known limits, as text. */
  readonly notes: string | null;
  /** Whether it serves requests that specify no model. */
  readonly default: boolean;
}

/** A speech model. */
export interface Model extends InstalledModel {
  /** Language code. */
  readonly lang: string;
  /** Hz of its audio. */
  readonly sample_rate: number;
  readonly voices: readonly string[];
  readonly default_voice: string;
  /** Whether it supports `timestamps`. */
  readonly word_times: boolean;
  /** Whether it uses `nfe`; other models ignore it. */
  readonly solver_steps: boolean;
}

/** A recognition model. */
export interface Recognizer extends InstalledModel {
  /** Language codes, joined with hyphens. */
  readonly lang: string;
  /** Hz of its input; other rates are converted. */
  readonly sample_rate: number;
  /** Whether live sessions get partials. */
  readonly live_partials: boolean;
  /** Whether it supports hot words. */
  readonly hot_words: boolean;
  /** Whether it supports `diarize`; absent from services before that feature. */
  readonly diarize?: boolean | undefined;
}

export interface Voice {
  readonly name: string;
  readonly gender: string | null;
  readonly style: string | null;
  readonly best_for: string | null;
}

export interface Voices {
  readonly model: string;
  readonly voices: readonly Voice[];
}

export interface Health {
  readonly status: "ok";
  /** Model ids. */
  readonly models: readonly string[];
}

/** Whether the service accepts work now. */
export interface Readiness {
  readonly isReady: boolean;
  /** Why it does not; null if it does. */
  readonly detail: string | null;
}

/** The key that asks, with its limits. */
export interface KeyInfo {
  readonly id: string;
  readonly name: string | null;
  /** Monthly cap in credits; null for none. */
  readonly monthly_credits: number | null;
  /** The current month, UTC, `2026-11`. */
  readonly month: string;
  /** Credits charged to the key for work begun this month. */
  readonly credits: number;
  /** Credits held for its running work. */
  readonly held: number;
  /** Endpoints that it is limited to; null for all. */
  readonly endpoints:
    | readonly ("tts" | "transcribe" | "live" | "jobs" | "account:read" | "account:write")[]
    | null;
  readonly expires_at: string | null;
}

/** Credits of an organization, in whole numbers. */
export interface Balance {
  /** Includes held credits. */
  readonly balance: number;
  /** Reserved for running work. */
  readonly held: number;
  /** Available to new work: `balance` minus `held`. */
  readonly available: number;
  /** `paid` after the first payment. */
  readonly tier: "free" | "paid";
}

/** Usage of one day, kind and path. */
export interface UsageRow {
  /** UTC, `2026-11-21`. */
  readonly day: string;
  readonly kind: "synthesis" | "file" | "live";
  /** Path of the endpoint. */
  readonly endpoint: string | null;
  readonly requests: number;
  /** Amount in `unit`. */
  readonly quantity: number;
  readonly unit: "characters" | "seconds";
  readonly credits: number;
}

export interface Usage {
  /** First day. */
  readonly from: string;
  /** Last day. */
  readonly to: string;
  /** Sorted by day, kind and path; days without usage are omitted. */
  readonly data: readonly UsageRow[];
}
