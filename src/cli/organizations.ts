import { randomUUID } from "node:crypto";
import type { Organization } from "../store/accounts/organizations.js";
import type { Balance } from "../store/ledger/accounts.js";
import type { Store } from "../store/store.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  printResult,
  UsageError,
  unknownAction,
} from "./command.js";
import { DATABASE_NOTE, withStore } from "./operator-store.js";
import { table } from "./table.js";

export const organizationsCommand: Command = {
  usage: "orgs create NAME | list | credit ORG AMOUNT",
  summary: "Create and list organizations, add credits",
  description: "Create and list organizations, and add paid credits to their balances.",
  actions: [
    ["create NAME", "Create an organization and print its id"],
    ["list", "List organizations and their balances"],
    ["credit ORG AMOUNT", "Add AMOUNT credits to an organization"],
  ],
  options: { json: { type: "boolean" }, reference: { type: "string" } },
  optionHelp: [["--reference REF", "credit: the payment's reference; each reference is credited only once"]],
  note: DATABASE_NOTE,
  examples: [
    'orgs create "Тілмаш"',
    "orgs list",
    "orgs credit org_development 1000000 --reference invoice-7",
  ],
  run: organizations,
};

async function organizations(input: CommandInput): Promise<void> {
  const [action, ...rest] = input.positionals;
  const name = rest[0]?.trim() ?? "";
  if (action === "create" && rest.length === 1 && name !== "") {
    return await withStore(input, (store) => create(store, name, input));
  }
  if (action === "create") throw new UsageError("create needs one NAME; quote names with spaces");
  if (action === "list" && rest.length === 0) return await withStore(input, (store) => list(store, input));
  if (action === "credit" && rest.length === 2) {
    const amount = wholeAmount(rest[1]!);
    return await withStore(input, (store) => credit(store, rest[0]!, amount, input));
  }
  if (action === "credit") throw new UsageError("credit needs ORG and AMOUNT, in credits");
  throw unknownAction(action, ["create", "list", "credit"]);
}

async function create(store: Store, name: string, input: CommandInput): Promise<void> {
  const organization = await store.organizations.create(name);
  const balance = await balanceOf(store, organization.id);
  printResult(input, toJson(organization, balance), organization.id);
}

async function list(store: Store, input: CommandInput): Promise<void> {
  const [found, all] = await Promise.all([store.organizations.list(), store.accounts.list()]);
  const balances = new Map(all.map((balance) => [balance.organizationId, balance]));
  // An organization may have been created between the two queries, and then has no account here.
  const known = found.filter(({ id }) => balances.has(id));
  const data = known.map((organization) => toJson(organization, balances.get(organization.id)!));
  const rows = known.map((organization) => {
    const { balance, held } = balances.get(organization.id)!;
    const created = organization.createdAt.toISOString();
    return [organization.id, organization.name, String(balance), String(held), created];
  });
  printResult(input, { data }, table(["ID", "NAME", "CREDITS", "HELD", "CREATED"], rows));
}

async function credit(store: Store, id: string, amount: number, input: CommandInput): Promise<void> {
  await balanceOf(store, id);
  const reference = input.options.text("reference") ?? randomUUID();
  const isNew = await store.transfers.topUp(id, amount, reference).catch((error: unknown) => {
    throw new CommandError(error instanceof Error ? error.message : String(error), { cause: error });
  });
  const { balance } = await balanceOf(store, id);
  const result = { organization_id: id, amount, reference, is_new: isNew, balance };
  const what = isNew ? `credited ${amount} to ${id}` : `payment ${reference} was already credited`;
  printResult(input, result, `${what}; balance ${balance}`);
}

/** @throws {CommandError} if the organization does not exist */
export async function balanceOf(store: Store, id: string): Promise<Balance> {
  const balance = await store.accounts.find(id);
  if (balance !== null) return balance;
  throw noSuchOrganization(id);
}

export function noSuchOrganization(id: string): CommandError {
  return new CommandError(`no such organization: "${id}"; see \`dauys orgs list\``);
}

function wholeAmount(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new UsageError(`AMOUNT must be a whole number of credits above 0, received "${text}"`);
}

function toJson(organization: Organization, { balance, held }: Balance) {
  const { id, name, createdAt } = organization;
  return { id, name, balance, held, created_at: createdAt };
}
