import { z } from "zod";
import { KEY_ENDPOINTS } from "../domain/key-limits.js";
import type { UsageKind } from "../domain/usage/tariff.js";
import type { DeepReadonly } from "./fields.js";

export const BALANCE = z.object({
  balance: z.int().meta({ description: "Credits of the organization, including held ones" }),
  held: z.int().meta({ description: "Credits held for running work" }),
  available: z.int().meta({ description: "Credits available to new work: `balance` minus `held`" }),
  tier: z.enum(["free", "paid"]).meta({ description: "`paid` after the first purchase of credits" }),
});

/** The requesting key, with its limits. */
export const KEY_INFO = z.object({
  id: z.string().meta({ description: "Id shown in the console; `playground` for the console's own keys" }),
  name: z.string().nullable(),
  monthly_credits: z.int().nullable().meta({ description: "Monthly cap in credits; null for none" }),
  month: z.string().meta({ description: "The current month, UTC, `2026-11`" }),
  credits: z.int().meta({ description: "Credits charged to the key for work started this month" }),
  held: z.int().meta({ description: "Credits held for its running work" }),
  endpoints: z
    .array(z.enum(KEY_ENDPOINTS))
    .nullable()
    .meta({ description: "Endpoints that the key is restricted to; null for all" }),
  expires_at: z.iso.datetime().nullable(),
});

const UNITS = { synthesis: "characters", file: "seconds", live: "seconds" } as const satisfies Record<
  UsageKind,
  string
>;

/** Usage of one day for one kind of work on one path. */
export const USAGE_ROW = z.object({
  day: z.string().meta({ description: "Day the work started, UTC, `2026-11-21`" }),
  kind: z.enum(["synthesis", "file", "live"]),
  endpoint: z.string().nullable().meta({ description: "Path of the request" }),
  requests: z.int(),
  quantity: z.number().meta({ description: "How much, in `unit`" }),
  unit: z.enum(["characters", "seconds"]),
  credits: z.int().meta({ description: "Credits charged" }),
});

export const USAGE = z.object({
  from: z.string().meta({ description: "First day" }),
  to: z.string().meta({ description: "Last day" }),
  data: z
    .array(USAGE_ROW)
    .meta({ description: "Sorted by day, kind and path; days without work are omitted" }),
});

export type KeyInfo = DeepReadonly<z.output<typeof KEY_INFO>>;
export type Balance = DeepReadonly<z.output<typeof BALANCE>>;
export type Usage = DeepReadonly<z.output<typeof USAGE>>;

/** Unit of the quantity of a kind of work. */
export function usageUnit(kind: UsageKind): (typeof UNITS)[UsageKind] {
  return UNITS[kind];
}
