import { z } from "zod";
import { KEY_ENDPOINTS } from "../domain/key-limits.js";
import type { UsageKind } from "../domain/usage/tariff.js";
import type { DeepReadonly } from "./fields.js";

export const BALANCE = z.object({
  balance: z.int().meta({ description: "Credits of the organization, those that are held too" }),
  held: z.int().meta({ description: "Credits set aside for work that is running" }),
  available: z.int().meta({ description: "Credits that new work may take: `balance` less `held`" }),
  tier: z.enum(["free", "paid"]).meta({ description: "`paid` once credits were bought" }),
});

/** The key that asks, with its limits. */
export const KEY_INFO = z.object({
  id: z.string().meta({ description: "As the console lists it; `playground` for the console's own keys" }),
  name: z.string().nullable(),
  monthly_credits: z.int().nullable().meta({ description: "Monthly cap in credits; null for none" }),
  month: z.string().meta({ description: "The current month, UTC, `2026-11`" }),
  credits: z.int().meta({ description: "Credits charged to the key for work begun this month" }),
  held: z.int().meta({ description: "Credits set aside for its work that is running" }),
  endpoints: z
    .array(z.enum(KEY_ENDPOINTS))
    .nullable()
    .meta({ description: "Endpoints that it is limited to; null for all" }),
  expires_at: z.iso.datetime().nullable(),
});

const UNITS = { synthesis: "characters", file: "seconds", live: "seconds" } as const satisfies Record<
  UsageKind,
  string
>;

/** Usage of one day for one kind of work on one path. */
export const USAGE_ROW = z.object({
  day: z.string().meta({ description: "UTC, `2026-11-21`: when the work began" }),
  kind: z.enum(["synthesis", "file", "live"]),
  endpoint: z.string().nullable().meta({ description: "Path that the work came by" }),
  requests: z.int(),
  quantity: z.number().meta({ description: "How much, in `unit`" }),
  unit: z.enum(["characters", "seconds"]),
  credits: z.int().meta({ description: "Credits charged" }),
});

export const USAGE = z.object({
  from: z.string().meta({ description: "First day" }),
  to: z.string().meta({ description: "Last day" }),
  data: z.array(USAGE_ROW).meta({ description: "By day, kind and path; days without work are left out" }),
});

export type KeyInfo = DeepReadonly<z.output<typeof KEY_INFO>>;
export type Balance = DeepReadonly<z.output<typeof BALANCE>>;
export type Usage = DeepReadonly<z.output<typeof USAGE>>;

/** Unit of the quantity of a kind of work. */
export function usageUnit(kind: UsageKind): (typeof UNITS)[UsageKind] {
  return UNITS[kind];
}
