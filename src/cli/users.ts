import type { Store } from "../store/store.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  printLine,
  printNote,
  UsageError,
  unknownAction,
} from "./command.js";
import { OPERATOR_HELP, withStore } from "./operator-store.js";
import { type ServiceUrl, serviceUrl, URL_HELP } from "./service-url.js";

const DEFAULT_HOURS = 24;
const MOST_HOURS = 720;

export const usersCommand: Command = {
  usage: "users reset-password EMAIL",
  summary: `Makes a link by which somebody chooses another password for the console; ${OPERATOR_HELP}.`,
  options: { json: { type: "boolean" }, hours: { type: "string" }, url: { type: "string" } },
  optionHelp: [
    `--hours N  the link is good for so many hours, 1 to ${MOST_HOURS}; ${DEFAULT_HOURS} when absent`,
    URL_HELP,
  ],
  examples: ["users reset-password aida@example.org --url https://speech.example.org"],
  run: users,
};

async function users(input: CommandInput): Promise<void> {
  const [action, email, ...rest] = input.positionals;
  if (action !== "reset-password") throw unknownAction(action, ["reset-password"]);
  if (email === undefined || rest.length > 0) throw new UsageError("reset-password takes one EMAIL");
  const hours = input.options.number("hours") ?? DEFAULT_HOURS;
  if (!Number.isInteger(hours) || hours < 1 || hours > MOST_HOURS) {
    throw new UsageError(`--hours must be a whole number from 1 to ${MOST_HOURS}, received "${hours}"`);
  }
  const base = await serviceUrl(input);
  await withStore(input, (store) => resetPassword(store, { email, hours, base }, input));
}

async function resetPassword(
  store: Store,
  { email, hours, base }: { readonly email: string; readonly hours: number; readonly base: ServiceUrl },
  { options }: CommandInput,
): Promise<void> {
  const made = await store.passwordResets.create(email, hours);
  if (made === null) throw new CommandError(`nobody has signed up as ${email}`);
  // Behind the mark: browsers send it nowhere, so it comes into no log.
  const link = `${base.url}/console/reset#${made.secret}`;
  if (options.isSet("json")) {
    return printLine(JSON.stringify({ email: made.user.email, link, expires_at: made.expiresAt }));
  }
  printLine(link);
  printNote(
    `Good once, until ${made.expiresAt.toISOString()}. A person who has it can sign in as ${made.user.email}.`,
  );
  if (!base.isGiven)
    printNote(`It leads to ${base.url}, which others may not reach: --url or DAUYS_URL says what they do.`);
}
