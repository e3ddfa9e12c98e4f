import type { Store } from "../store/store.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  printResult,
  UsageError,
  unknownAction,
  wholeNumber,
} from "./command.js";
import { DATABASE_NOTE, withStore } from "./operator-store.js";
import { type ServiceUrl, serviceUrl } from "./service-url.js";

const DEFAULT_HOURS = 24;
const MOST_HOURS = 720;

export const usersCommand: Command = {
  usage: "users reset-password EMAIL",
  summary: "Reset a user's console password",
  description: "Print a link to choose a new console password, valid once.",
  options: { json: { type: "boolean" }, hours: { type: "string" }, url: { type: "string" } },
  optionHelp: [
    ["--hours N", `Hours until the link expires, 1 to ${MOST_HOURS} (default: ${DEFAULT_HOURS})`],
    ["--url URL", "Address at which the user reaches the service"],
  ],
  note: DATABASE_NOTE,
  examples: ["users reset-password aida@example.org --url https://speech.example.org"],
  run: users,
};

async function users(input: CommandInput): Promise<void> {
  const [action, email, ...rest] = input.positionals;
  if (action !== "reset-password") throw unknownAction(action, ["reset-password"]);
  if (email === undefined || rest.length > 0) throw new UsageError("reset-password needs one EMAIL");
  const hours = wholeNumber("--hours", input.options.text("hours") ?? `${DEFAULT_HOURS}`, MOST_HOURS);
  const base = await serviceUrl(input);
  await withStore(input, (store) => resetPassword(store, { email, hours, base }, input));
}

async function resetPassword(
  store: Store,
  { email, hours, base }: { readonly email: string; readonly hours: number; readonly base: ServiceUrl },
  input: CommandInput,
): Promise<void> {
  const made = await store.passwordResets.create(email, hours);
  if (made === null) throw new CommandError(`no such user: "${email}"; users sign up in the console`);
  // Put the secret into the fragment, which browsers never send, so that it reaches no log.
  const link = `${base.url}/console/reset#${made.secret}`;
  const { expiresAt, user } = made;
  const remarks = [
    `valid once, until ${expiresAt.toISOString()}; anyone with the link can sign in as ${user.email}`,
    `the link uses ${base.url}, which others may not reach; set --url or DAUYS_URL to the public address`,
  ];
  const result = { email: user.email, link, expires_at: expiresAt };
  printResult(input, result, link, ...remarks.slice(0, base.isGiven ? 1 : 2));
}
