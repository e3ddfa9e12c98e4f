import { seconds } from "../../core/domain/rounded.js";
import type { Store } from "../store/store.js";
import { type Command, type CommandInput, onlyArgument, printResult, UsageError } from "./command.js";
import { withStore } from "./operator-store.js";
import { balanceOf } from "./organizations.js";
import { openService, SERVICE_OPTIONS } from "./service-client.js";
import { table } from "./table.js";

export const usageCommand: Command = {
  usage: "usage [ORG] [--from DAY] [--to DAY]",
  summary: "Show what an organization was charged for",
  description: "Show daily charges of the API key's organization, or the totals of ORG.",
  options: { ...SERVICE_OPTIONS, from: { type: "string" }, to: { type: "string" } },
  optionHelp: [
    ["--from DAY", "First day, such as 2026-11-21 (default: 29 days before the last)"],
    ["--to DAY", "Last day, UTC (default: today)"],
  ],
  note: "With ORG, reads the service's database (see `dauys help connection`).",
  examples: ["usage --from 2026-11-01", "usage org_development"],
  run: (input) => {
    if (input.positionals.length === 0) return ownUsage(input);
    if (input.options.text("from") !== null || input.options.text("to") !== null)
      throw new UsageError("--from and --to cannot be combined with ORG");
    const organizationId = onlyArgument(input, "ORG");
    return withStore(input, (store) => usage(store, organizationId, input));
  },
};

async function ownUsage(input: CommandInput): Promise<void> {
  const { options } = input;
  const client = await openService(input);
  const period = { from: options.text("from") ?? undefined, to: options.text("to") ?? undefined };
  const { from, to, data } = await client.usage(period);
  const rows = data.map(({ day, kind, endpoint, requests, quantity, unit, credits }) => [
    day,
    kind,
    endpoint ?? "",
    String(requests),
    `${seconds(quantity)} ${unit}`,
    String(credits),
  ]);
  const text = table(["DAY", "KIND", "PATH", "REQUESTS", "USED", "CREDITS"], rows);
  const sum = data.reduce((total, { credits }) => total + credits, 0);
  printResult(input, { from, to, data }, `${text}\n${sum} credits from ${from} to ${to}`);
}

async function usage(store: Store, id: string, input: CommandInput): Promise<void> {
  const { balance } = await balanceOf(store, id);
  const data = (await store.holds.usage(id)).map(({ kind, requests, quantity, credits }) => {
    const unit = kind === "synthesis" ? "characters" : "seconds";
    return { kind, requests, quantity: seconds(quantity), unit, credits };
  });
  const rows = data.map(({ kind, requests, quantity, unit, credits }) => [
    kind,
    String(requests),
    `${quantity} ${unit}`,
    String(credits),
  ]);
  const text = table(["KIND", "REQUESTS", "USED", "CREDITS"], rows);
  printResult(input, { organization_id: id, balance, data }, `${text}\nbalance ${balance}`);
}
