import type { Transfer } from "../store/ledger/transfers.js";
import type { Store } from "../store/store.js";
import { type Command, type CommandInput, onlyArgument, printLine } from "./command.js";
import { DATABASE_NOTE, withStore } from "./operator-store.js";
import { balanceOf } from "./organizations.js";
import { table } from "./table.js";

export const ledgerCommand: Command = {
  usage: "ledger ORG",
  summary: "Show every credit and charge of an organization",
  description: "Show every credit and charge of an organization, oldest first.",
  options: { json: { type: "boolean" } },
  optionHelp: [],
  note: DATABASE_NOTE,
  examples: ["ledger org_development"],
  run: (input) => {
    const organizationId = onlyArgument(input, "ORG");
    return withStore(input, (store) => ledger(store, organizationId, input));
  },
};

async function ledger(store: Store, id: string, { options }: CommandInput): Promise<void> {
  const { balance, held, available } = await balanceOf(store, id);
  const transfers = await store.transfers.list(id);
  let after = 0;
  const lines = transfers.map((transfer) => {
    const change = transfer.creditAccount === id ? transfer.amount : -transfer.amount;
    after += change;
    return { transfer, change, after };
  });
  if (options.isSet("json")) {
    const data = lines.map((line) => toJson(line.transfer, line.change));
    return printLine(JSON.stringify({ organization_id: id, balance, held, available, data }));
  }
  const rows = lines.map(({ transfer, change, after }) => [
    transfer.createdAt.toISOString(),
    transfer.kind,
    change > 0 ? `+${change}` : String(change),
    String(after),
    transfer.reference,
  ]);
  printLine(table(["TIME", "KIND", "CREDITS", "BALANCE", "REFERENCE"], rows));
  printLine(`balance ${balance}, held ${held}, available ${available}`);
}

function toJson({ reference, kind, createdAt }: Transfer, amount: number) {
  return { reference, kind, amount, created_at: createdAt };
}
