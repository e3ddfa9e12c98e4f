import { seconds } from "../domain/rounded.js";
import type { Store } from "../store/store.js";
import { type Command, type CommandInput, onlyArgument, printLine, UsageError } from "./command.js";
import { OPERATOR_HELP, withStore } from "./operator-store.js";
import { balanceOf } from "./organizations.js";
import { openService, SERVICE_OPTION_HELP, SERVICE_OPTIONS } from "./service-client.js";
import { table } from "./table.js";

export const usageCommand: Command = {
  usage: "usage [ORG]",
  summary:
    "Says what the key's organization was charged for, day by day, as the service tells; with ORG sums up what that " +
    `organization was charged for: that ${OPERATOR_HELP}.`,
  options: { ...SERVICE_OPTIONS, from: { type: "string" }, to: { type: "string" } },
  optionHelp: [
    ...SERVICE_OPTION_HELP,
    "--from DAY  first day, as 2026-11-21; 29 days before the last one when absent",
    "--to DAY  last day, UTC; today when absent",
  ],
  examples: ["usage --from 2026-11-01", "usage org_development"],
  run: (input) => {
    if (input.positionals.length === 0) return ownUsage(input);
    if (input.options.text("from") !== null || input.options.text("to") !== null)
      throw new UsageError("--from and --to go without ORG");
    const organizationId = onlyArgument(input, "ORG");
    return withStore(input, (store) => usage(store, organizationId, input));
  },
};

async function ownUsage(input: CommandInput): Promise<void> {
  const { options } = input;
  const client = await openService(input);
  const period = { from: options.text("from") ?? undefined, to: options.text("to") ?? undefined };
  const { from, to, data } = await client.usage(period);
  if (options.isSet("json")) return printLine(JSON.stringify({ from, to, data }));
  const rows = data.map(({ day, kind, endpoint, requests, quantity, unit, credits }) => [
    day,
    kind,
    endpoint ?? "",
    String(requests),
    `${seconds(quantity)} ${unit}`,
    String(credits),
  ]);
  printLine(table(["DAY", "KIND", "PATH", "REQUESTS", "USED", "CREDITS"], rows));
  const sum = data.reduce((total, { credits }) => total + credits, 0);
  printLine(`${sum} credits from ${from} to ${to}`);
}

async function usage(store: Store, id: string, { options }: CommandInput): Promise<void> {
  const { balance } = await balanceOf(store, id);
  const sums = await store.holds.usage(id);
  if (options.isSet("json")) {
    const data = sums.map(({ kind, requests, quantity, credits }) => ({
      kind,
      requests,
      quantity: seconds(quantity),
      unit: unitOf(kind),
      credits,
    }));
    return printLine(JSON.stringify({ organization_id: id, balance, data }));
  }
  const rows = sums.map(({ kind, requests, quantity, credits }) => [
    kind,
    String(requests),
    `${seconds(quantity)} ${unitOf(kind)}`,
    String(credits),
  ]);
  printLine(table(["KIND", "REQUESTS", "USED", "CREDITS"], rows));
  printLine(`balance ${balance}`);
}

function unitOf(kind: string): string {
  return kind === "synthesis" ? "characters" : "seconds";
}
