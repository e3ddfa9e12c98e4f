import type { MailLanguage } from "../../../core/ports/mailer.js";
import type { AttemptLimiter } from "./attempt-limiter.js";
import { ConsoleError, noMail } from "./console-error.js";
import { hashPassword, isPassword } from "./passwords.js";
import {
  API,
  addressOf,
  type ConsoleMailing,
  type ConsoleRoute,
  type OpenCall,
  type UserCall,
} from "./route.js";
import { NEW_PASSWORD, NEW_RESET, parse, RESET, RESET_USE } from "./schemas.js";
import { openSession } from "./sessions.js";

/** Validity of links that users request; operators may create links that last longer. */
const RESET_LIFETIME_HOURS = 1;

interface SignInLimits {
  readonly resetMails: AttemptLimiter;
  readonly byEmail: AttemptLimiter;
  readonly byAddress: AttemptLimiter;
}

/**
 * Lists the routes that change a password, with the current password or a link. Both end all earlier
 * sessions.
 */
export function passwordRoutes({ byEmail, byAddress, resetMails }: SignInLimits): readonly ConsoleRoute[] {
  const change = async (call: UserCall) => {
    const { current, password } = parse(NEW_PASSWORD, await call.body());
    const { user, deps } = call;
    await requirePassword(call, current, byEmail);
    await deps.store.users.setPassword(user.id, await hashPassword(password, deps.passwordCost));
    deps.endings.endUser(user.id);
    return openSession(call, user, 200);
  };
  const lookUp = async (call: OpenCall) => {
    const address = addressOf(call);
    await byAddress.take(address);
    const { token } = parse(RESET, await call.body());
    const user = await call.deps.store.resets.find(token);
    if (user === null) throw invalidReset();
    await byAddress.giveBack(address);
    return { body: { email: user.email } };
  };
  const reset = async (call: OpenCall) => {
    const { deps } = call;
    await byAddress.take(addressOf(call));
    const { token, password } = parse(RESET_USE, await call.body());
    // Check the link first, so that only holders of a link make the service hash a password.
    if ((await deps.store.resets.find(token)) === null) throw invalidReset();
    const user = await deps.store.resets.use(token, await hashPassword(password, deps.passwordCost));
    if (user === null) throw invalidReset();
    await byEmail.clear(user.email);
    deps.endings.endUser(user.id);
    return openSession(call, user, 200);
  };
  const request = async (call: OpenCall) => {
    const { mailing, log } = call.deps;
    await byAddress.take(addressOf(call));
    const { email, language = null } = parse(NEW_RESET, await call.body());
    if (mailing === null) throw noMail();
    await resetMails.take(email);
    // Not awaited, so that the response time does not reveal whether the user exists.
    void sendReset(mailing, email, language).catch((error: unknown) =>
      log.error({ err: error }, "reset link not created"),
    );
    return { status: 202, body: {} };
  };
  return [
    { method: "POST", path: `${API}/password-resets`, access: "open", handle: request },
    { method: "POST", path: `${API}/password`, access: "user", handle: change },
    { method: "POST", path: `${API}/password-resets/look-up`, access: "open", handle: lookUp },
    { method: "POST", path: `${API}/password-resets/use`, access: "open", handle: reset },
  ];
}

/**
 * Requires the current password, which someone else at an unattended browser would not know.
 *
 * @throws {ConsoleError} `wrong_password`, `too_many_attempts`, `busy`
 */
export async function requirePassword(
  { deps, user }: UserCall,
  password: string,
  byEmail: AttemptLimiter,
): Promise<void> {
  // These attempts count as sign-ins, so that an open session does not allow faster guessing.
  await byEmail.take(user.email);
  const known = await deps.store.users.findByEmail(user.email);
  if (!(await isPassword(password, known?.passwordHash ?? null, deps.passwordCost))) {
    throw new ConsoleError("wrong_password", "the current password is wrong");
  }
  await byEmail.clear(user.email);
}

/** Sends the user a link, if the address belongs to a user. */
async function sendReset(
  { mailer, publicUrl, resets }: ConsoleMailing,
  email: string,
  language: MailLanguage | null,
): Promise<void> {
  const made = await resets.create(email, RESET_LIFETIME_HOURS);
  if (made === null) return;
  const { user, secret, expiresAt } = made;
  const url = `${publicUrl}/console/reset#${secret}`;
  await mailer.send({ type: "password-reset", to: user.email, language, url, expiresAt });
}

function invalidReset(): ConsoleError {
  return new ConsoleError(
    "reset_invalid",
    "the link is unknown, used, replaced or expired; ask for a new one",
  );
}
