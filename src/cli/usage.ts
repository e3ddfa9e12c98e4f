import type { Store } from "../store/store.js";
import { type Command, type CommandInput, onlyArgument, printLine } from "./command.js";
import { OPERATOR_HELP, withStore } from "./operator-store.js";
import { balanceOf } from "./organizations.js";
import { table } from "./table.js";

export const usageCommand: Command = {
  usage: "usage ORG",
  summary: `Sums up what an organization was charged for; ${OPERATOR_HELP}.`,
  options: { json: { type: "boolean" } },
  optionHelp: [],
  run: (input) => {
    const organizationId = onlyArgument(input, "ORG");
    return withStore(input, (store) => usage(store, organizationId, input));
  },
};

async function usage(store: Store, id: string, { options }: CommandInput): Promise<void> {
  const { balance } = await balanceOf(store, id);
  const sums = await store.holds.usage(id);
  if (options.isSet("json")) {
    const data = sums.map(({ kind, requests, quantity, credits }) => ({
      kind,
      requests,
      quantity,
      unit: unitOf(kind),
      credits,
    }));
    return printLine(JSON.stringify({ organization_id: id, balance, data }));
  }
  const rows = sums.map(({ kind, requests, quantity, credits }) => [
    kind,
    String(requests),
    `${Math.round(quantity * 1_000) / 1_000} ${unitOf(kind)}`,
    String(credits),
  ]);
  printLine(table(["KIND", "REQUESTS", "USED", "CREDITS"], rows));
  printLine(`balance ${balance}`);
}

function unitOf(kind: string): string {
  return kind === "synthesis" ? "characters" : "seconds";
}
