import type { Organization } from "../store/organizations.js";
import type { Store } from "../store/store.js";
import { type Command, type CommandInput, printLine, UsageError } from "./command.js";
import { OPERATOR_HELP, withStore } from "./operator-store.js";
import { table } from "./table.js";

export const organizationsCommand: Command = {
  usage: "orgs create|list|credit [NAME]",
  summary: `Makes and lists organizations; ${OPERATOR_HELP}.`,
  options: { json: { type: "boolean" } },
  optionHelp: [],
  run: organizations,
};

async function organizations(input: CommandInput): Promise<void> {
  const [action, ...rest] = input.positionals;
  const name = rest[0]?.trim() ?? "";
  if (action === "create" && rest.length === 1 && name !== "") {
    return await withStore(input, (store) => create(store, name, input));
  }
  if (action === "create") throw new UsageError("create takes one NAME; quote names with spaces");
  if (action === "list" && rest.length === 0) return await withStore(input, (store) => list(store, input));
  if (action === "credit") {
    throw new UsageError(
      "credits are not kept yet: they come with the ledger in a later version; nothing was changed",
    );
  }
  throw new UsageError("say create, list or credit");
}

async function create(store: Store, name: string, { options }: CommandInput): Promise<void> {
  const organization = await store.organizations.create(name);
  printLine(options.isSet("json") ? JSON.stringify(toJson(organization)) : organization.id);
}

async function list(store: Store, { options }: CommandInput): Promise<void> {
  const found = await store.organizations.list();
  if (options.isSet("json")) return printLine(JSON.stringify({ data: found.map(toJson) }));
  const rows = found.map((organization) => [
    organization.id,
    organization.name,
    organization.createdAt.toISOString(),
  ]);
  printLine(table(["ID", "NAME", "CREATED"], rows));
}

function toJson(organization: Organization) {
  return { id: organization.id, name: organization.name, created_at: organization.createdAt };
}
