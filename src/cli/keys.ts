import { KEY_ENDPOINTS, NO_KEY_LIMITS } from "../../core/domain/key-limits.js";
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
import { keyLimits, overlapSeconds } from "./key-limits.js";
import { DATABASE_NOTE, withStore } from "./operator-store.js";
import { noSuchOrganization } from "./organizations.js";
import { table } from "./table.js";

export const keysCommand: Command = {
  usage: "keys create | list | limit KEY_ID | rotate KEY_ID | revoke KEY_ID",
  summary: "Create, list, limit, rotate and revoke API keys",
  description: "Create, list, limit, rotate and revoke API keys.",
  actions: [
    ["create", "Create a key and print it; it is shown only once"],
    ["list", "List keys, their limits and what they used this month"],
    ["limit KEY_ID", "Change a key's cap, endpoints or expiry; `none` removes a limit"],
    ["rotate KEY_ID", "Replace a key's secret and print the new one, only once"],
    ["revoke KEY_ID", "Revoke a key; running services reject it within 30 s"],
  ],
  options: {
    json: { type: "boolean" },
    org: { type: "string" },
    name: { type: "string" },
    "monthly-credits": { type: "string" },
    endpoints: { type: "string" },
    expires: { type: "string" },
    overlap: { type: "string" },
  },
  optionHelp: [
    ["--org ORG", "create: the key's organization (default: the only one); list: its keys"],
    ["--name NAME", "create: what the key is for"],
    ["--monthly-credits N", "create, limit: most credits in a calendar month, UTC"],
    ["--endpoints LIST", `create, limit: of ${KEY_ENDPOINTS.join(", ")}`],
    ["--expires WHEN", "create, limit: a date, a time or a duration, such as 90d"],
    ["--overlap TIME", "rotate: how long the old secret works, up to 30d (default: 24h)"],
  ],
  note: DATABASE_NOTE,
  examples: [
    'keys create --name "our site"',
    "keys create --name kiosk --endpoints tts --monthly-credits 50000 --expires 90d",
    "keys rotate key_0123456789ab --overlap 1h",
    "keys revoke key_0123456789ab",
  ],
  run: keys,
};

async function keys(input: CommandInput): Promise<void> {
  const [action, ...rest] = input.positionals;
  if (action === "create" && rest.length === 0)
    return await withStore(input, (store) => create(store, input));
  if (action === "list" && rest.length === 0) return await withStore(input, (store) => list(store, input));
  if (action === "revoke" && rest.length === 1)
    return await withStore(input, (store) => revoke(store, rest[0]!, input));
  if (action === "limit" && rest.length === 1)
    return await withStore(input, (store) => limit(store, rest[0]!, input));
  if (action === "rotate" && rest.length === 1)
    return await withStore(input, (store) => rotate(store, rest[0]!, input));
  if (action === "revoke" || action === "limit" || action === "rotate")
    throw new UsageError(`${action} needs one KEY_ID; see \`dauys keys list\``);
  throw unknownAction(action, ["create", "list", "limit", "rotate", "revoke"]);
}

async function create(store: Store, input: CommandInput): Promise<void> {
  const limits = { ...NO_KEY_LIMITS, ...keyLimits(input.options) };
  const organizationId = await organizationFor(store, input.options.text("org"));
  const name = input.options.text("name") ?? "key";
  const { rawKey, ...key } = await store.apiKeys.create({ organizationId, name, limits });
  const remark = `created ${key.id} for ${organizationId}; save the key now, it will not be shown again`;
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
    `${key.usage[0]!.credits + key.usage[0]!.held}${key.monthlyCredits === null ? "" : ` of ${key.monthlyCredits}`}`,
    key.endpoints?.join(",") ?? "all",
    stateOf(key),
  ]);
  const titles = [
    ...[
      "ID",
      "ORGANIZATION",
      "KEY",
      "NAME",
      "CREATED",
      "LAST USED",
      "CREDITS THIS MONTH",
      "ENDPOINTS",
      "STATE",
    ],
  ];
  printResult(input, { data: found.map(toJson) }, table(titles, rows));
}

async function revoke(store: Store, id: string, input: CommandInput): Promise<void> {
  const key = await store.apiKeys.revoke(id);
  if (key === null) throw new CommandError(`no such key: "${id}"; see \`dauys keys list\``);
  printResult(input, toJson(key), `revoked ${id}; running services reject it within 30 s`);
}

async function limit(store: Store, id: string, input: CommandInput): Promise<void> {
  const limits = keyLimits(input.options);
  if (Object.keys(limits).length === 0)
    throw new UsageError("limit needs --monthly-credits, --endpoints or --expires");
  const key = await store.apiKeys.setLimits(id, limits);
  if (key === null) throw noSuchKey(id);
  printResult(input, toJson(key), `changed ${id}; running services apply it within 30 s`);
}

async function rotate(store: Store, id: string, input: CommandInput): Promise<void> {
  const rotated = await store.apiKeys.rotate(id, overlapSeconds(input.options.text("overlap") ?? "24h"));
  if (rotated === null) throw noSuchKey(id);
  const { rawKey, ...key } = rotated;
  const until =
    key.previousUntil === null ? "no longer works" : `works until ${key.previousUntil.toISOString()}`;
  const remark = `rotated ${id}: the old secret ${until}; save the new key now, it will not be shown again`;
  printResult(input, { ...toJson(key), key: rawKey }, rawKey, remark);
}

function noSuchKey(id: string): CommandError {
  return new CommandError(`no such active key: "${id}"; see \`dauys keys list\``);
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return "revoked";
  if (expiresAt === null) return "active";
  const until = expiresAt.toISOString();
  return expiresAt.getTime() > Date.now() ? `active until ${until}` : `expired ${until}`;
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
    monthly_credits: key.monthlyCredits,
    endpoints: key.endpoints,
    expires_at: key.expiresAt,
    previous_secret_until: key.previousUntil,
    usage: key.usage,
  };
}
