import type { ApiKey } from "../store/accounts/api-keys.js";
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
import { noSuchOrganization } from "./organizations.js";
import { table } from "./table.js";

export const keysCommand: Command = {
  usage: "keys create | list | revoke KEY_ID",
  summary: "Create, list and revoke API keys",
  description: "Create, list and revoke API keys.",
  actions: [
    ["create", "Create a key and print it, once"],
    ["list", "List keys and when they were last used"],
    ["revoke KEY_ID", "Revoke a key; running services reject it within 30 s"],
  ],
  options: { json: { type: "boolean" }, org: { type: "string" }, name: { type: "string" } },
  optionHelp: [
    ["--org ORG", "create: the key's organization (default: the only one); list: show only its keys"],
    ["--name NAME", "create: what the key is for"],
  ],
  note: DATABASE_NOTE,
  examples: ['keys create --name "our site"', "keys list", "keys revoke key_0123456789ab"],
  run: keys,
};

async function keys(input: CommandInput): Promise<void> {
  const [action, ...rest] = input.positionals;
  if (action === "create" && rest.length === 0)
    return await withStore(input, (store) => create(store, input));
  if (action === "list" && rest.length === 0) return await withStore(input, (store) => list(store, input));
  if (action === "revoke" && rest.length === 1)
    return await withStore(input, (store) => revoke(store, rest[0]!, input));
  if (action === "revoke") throw new UsageError("revoke needs one KEY_ID; see `dauys keys list`");
  throw unknownAction(action, ["create", "list", "revoke"]);
}

async function create(store: Store, input: CommandInput): Promise<void> {
  const organizationId = await organizationFor(store, input.options.text("org"));
  const name = input.options.text("name") ?? "key";
  const { rawKey, ...key } = await store.apiKeys.create({ organizationId, name });
  const remark = `created ${key.id} for ${organizationId}; save the key now, it is not shown again`;
  printResult(input, { ...toJson(key), key: rawKey }, rawKey, remark);
}

async function list(store: Store, input: CommandInput): Promise<void> {
  const found = await store.apiKeys.list(input.options.text("org"));
  const rows = found.map((key) => [
    key.id,
    key.organizationId,
    `${key.prefix}...${key.lastFour}`,
    key.name,
    key.createdAt.toISOString(),
    key.lastUsedAt?.toISOString() ?? "never",
    key.revokedAt === null ? "active" : "revoked",
  ]);
  const titles = ["ID", "ORGANIZATION", "KEY", "NAME", "CREATED", "LAST USED", "STATE"];
  printResult(input, { data: found.map(toJson) }, table(titles, rows));
}

async function revoke(store: Store, id: string, input: CommandInput): Promise<void> {
  const key = await store.apiKeys.revoke(id);
  if (key === null) throw new CommandError(`no such key: "${id}"; see \`dauys keys list\``);
  printResult(input, toJson(key), `revoked ${id}; running services reject it within 30 s`);
}

async function organizationFor(store: Store, wanted: string | null): Promise<string> {
  if (wanted !== null) {
    if ((await store.organizations.find(wanted)) !== null) return wanted;
    throw noSuchOrganization(wanted);
  }
  const all = await store.organizations.list();
  if (all.length === 1) return all[0]!.id;
  if (all.length === 0)
    throw new CommandError('there are no organizations; create one with `dauys orgs create "NAME"`');
  throw new UsageError(
    `--org is missing; choose one of ${all.length} organizations from \`dauys orgs list\``,
  );
}

function toJson(key: ApiKey) {
  return {
    id: key.id,
    organization_id: key.organizationId,
    prefix: key.prefix,
    last_four: key.lastFour,
    name: key.name,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
    revoked_at: key.revokedAt,
  };
}
