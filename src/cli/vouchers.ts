import type { Voucher } from "../store/ledger/vouchers.js";
import type { Store } from "../store/store.js";
import {
  type Command,
  type CommandInput,
  printNote,
  printResult,
  UsageError,
  unknownAction,
  wholeNumber,
} from "./command.js";
import { DATABASE_NOTE, withStore } from "./operator-store.js";
import { table } from "./table.js";

const MOST_AT_ONCE = 1_000;

export const vouchersCommand: Command = {
  usage: "vouchers create CREDITS | list",
  summary: "Create and list voucher codes for credits",
  description: "Create and list voucher codes, which customers redeem for credits in the console.",
  actions: [
    ["create CREDITS", "Create codes worth CREDITS each and print them, once"],
    ["list", "List vouchers and who redeemed them"],
  ],
  options: {
    json: { type: "boolean" },
    count: { type: "string" },
    note: { type: "string" },
    days: { type: "string" },
  },
  optionHelp: [
    ["--count N", `create: number of codes, 1 to ${MOST_AT_ONCE} (default: 1)`],
    ["--note TEXT", "create: a note for the list"],
    ["--days N", "create: days until the codes expire (default: never)"],
  ],
  note: DATABASE_NOTE,
  examples: ['vouchers create 50000 --count 10 --note "workshop"', "vouchers list"],
  run: vouchers,
};

async function vouchers(input: CommandInput): Promise<void> {
  const [action, ...rest] = input.positionals;
  const [amount] = rest;
  if (action === "create" && rest.length === 1 && amount !== undefined) {
    const credits = wholeNumber("CREDITS", amount, Number.MAX_SAFE_INTEGER);
    const count = wholeNumber("--count", input.options.text("count") ?? "1", MOST_AT_ONCE);
    const days = input.options.text("days");
    const lifetimeDays = days === null ? null : wholeNumber("--days", days, 36_500);
    return await withStore(input, (store) => create(store, { credits, count, lifetimeDays }, input));
  }
  if (action === "create") throw new UsageError("create needs CREDITS, the value of each code");
  if (action === "list" && rest.length === 0) return await withStore(input, (store) => list(store, input));
  throw unknownAction(action, ["create", "list"]);
}

async function create(
  store: Store,
  wanted: { readonly credits: number; readonly count: number; readonly lifetimeDays: number | null },
  input: CommandInput,
): Promise<void> {
  const note = input.options.text("note") ?? "";
  for (let made = 0; made < wanted.count; made++) {
    const { code, ...voucher } = await store.vouchers.create({ ...wanted, note });
    printResult(input, { ...toJson(voucher), code }, code);
  }
  if (!input.options.isSet("json")) printNote("save the codes now, they will not be shown again");
}

async function list(store: Store, input: CommandInput): Promise<void> {
  const found = await store.vouchers.list();
  const rows = found.map((voucher) => [
    voucher.id,
    `...${voucher.lastFour}`,
    String(voucher.credits),
    voucher.createdAt.toISOString(),
    stateOf(voucher),
    voucher.organizationId ?? "",
    voucher.note,
  ]);
  const titles = ["ID", "CODE", "CREDITS", "CREATED", "STATE", "ORGANIZATION", "NOTE"];
  printResult(input, { data: found.map(toJson) }, table(titles, rows));
}

function stateOf({ redeemedAt, expiresAt }: Voucher): string {
  if (redeemedAt !== null) return `redeemed ${redeemedAt.toISOString()}`;
  if (expiresAt === null) return "valid";
  return `${expiresAt.getTime() > Date.now() ? "valid until" : "expired"} ${expiresAt.toISOString()}`;
}

function toJson(voucher: Voucher) {
  return {
    id: voucher.id,
    last_four: voucher.lastFour,
    credits: voucher.credits,
    note: voucher.note,
    created_at: voucher.createdAt,
    expires_at: voucher.expiresAt,
    redeemed_at: voucher.redeemedAt,
    organization_id: voucher.organizationId,
  };
}
