import type { Transfer } from "../store/ledger/transfers.js";
import type { Store } from "../store/store.js";
import { type Command, type CommandInput, onlyArgument, printResult } from "./command.js";
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

async function ledger(store: Store, id: string, input: CommandInput): Promise<void> {
  const { balance, held, available } = await balanceOf(store, id);
  const transfers = await store.transfers.list(id);
  let after = 0;
  const rows = transfers.map((transfer) => {
    const change = changeOf(transfer, id);
    after += change;
    const { createdAt, kind, reference } = transfer;
    return [createdAt.toISOString(), kind, change > 0 ? `+${change}` : `${change}`, `${after}`, reference];
  });
  const data = transfers.map((transfer) => {
    const { reference, kind, createdAt } = transfer;
    return { reference, kind, amount: changeOf(transfer, id), created_at: createdAt };
  });
  const text = table(["TIME", "KIND", "CREDITS", "BALANCE", "REFERENCE"], rows);
  printResult(
    input,
    { organization_id: id, balance, held, available, data },
    `${text}\nbalance ${balance}, held ${held}, available ${available}`,
  );
}

/** Returns the credits that a transfer added to an organization's account; negative for a charge. */
function changeOf({ creditAccount, amount }: Transfer, id: string): number {
  return creditAccount === id ? amount : -amount;
}
