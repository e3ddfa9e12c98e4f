import type { User } from "../../../core/ports/console-store.js";
import {
  AttemptLimiter,
  RESET_MAILS,
  SIGN_INS_OF_EMAIL,
  SIGN_UPS_OF_ADDRESS,
  TRIES_OF_ADDRESS,
} from "./attempt-limiter.js";
import { ConsoleError } from "./console-error.js";
import { passwordRoutes, requirePassword } from "./password-routes.js";
import { hashPassword, isPassword } from "./passwords.js";
import {
  API,
  addressOf,
  type ConsoleAnswer,
  type ConsoleDeps,
  type ConsoleRoute,
  type OpenCall,
  type UserCall,
} from "./route.js";
import { DELETION, INVITATION, parse, SIGN_IN, SIGN_UP } from "./schemas.js";
import { endedCookie, endSession, openSession, secretHash, sessionBody, sessionOf } from "./sessions.js";

const SIGNED_OUT = { user: null, organizations: [] };

/** Lists the routes for sign-up, sign-in, sign-out, passwords, invitations and account deletion. */
export function accountRoutes({ store: { attempts }, clock }: ConsoleDeps): readonly ConsoleRoute[] {
  const byEmail = new AttemptLimiter(SIGN_INS_OF_EMAIL, attempts, clock);
  const byAddress = new AttemptLimiter(TRIES_OF_ADDRESS, attempts, clock);
  const signUps = new AttemptLimiter(SIGN_UPS_OF_ADDRESS, attempts, clock);
  const resetMails = new AttemptLimiter(RESET_MAILS, attempts, clock);
  // Handlers count the network address's attempt before they read the body.
  const signUp = async (call: OpenCall) => {
    const address = addressOf(call);
    await byAddress.take(address);
    const wanted = parse(SIGN_UP, await call.body());
    await signUps.take(address);
    return openSession(call, await createUser(call, wanted), 201);
  };
  const signIn = async (call: OpenCall) => {
    const { deps } = call;
    await byAddress.take(addressOf(call));
    const { email, password } = parse(SIGN_IN, await call.body());
    await byEmail.take(email);
    const known = await deps.store.users.findByEmail(email);
    if (!(await isPassword(password, known?.passwordHash ?? null, deps.passwordCost)) || known === null) {
      throw new ConsoleError("wrong_credentials", "the e-mail address or the password is wrong");
    }
    await byEmail.clear(email);
    return openSession(call, { id: known.id, email: known.email }, 200);
  };
  const lookUpInvitation = (call: OpenCall) =>
    withInvitation(call, byAddress, async (hash) => {
      const found = await call.deps.store.members.findInvitation(hash);
      return found === null ? null : { organization: found.organizationName, role: found.role };
    });
  const acceptInvitation = (call: UserCall) =>
    withInvitation(call, byAddress, async (hash) => {
      const organizationId = await call.deps.store.members.accept(hash, call.user.id);
      return organizationId === null ? null : await sessionBody(call.deps, call.user);
    });
  return [
    { method: "GET", path: `${API}/session`, access: "open", handle: currentSession },
    { method: "POST", path: `${API}/sign-up`, access: "open", handle: signUp },
    { method: "POST", path: `${API}/sign-in`, access: "open", handle: signIn },
    { method: "POST", path: `${API}/sign-out`, access: "open", handle: signOut },
    ...passwordRoutes({ byEmail, byAddress, resetMails }),
    { method: "POST", path: `${API}/account/delete`, access: "user", handle: deleteAccount(byEmail) },
    { method: "POST", path: `${API}/invitations/look-up`, access: "open", handle: lookUpInvitation },
    { method: "POST", path: `${API}/invitations/accept`, access: "user", handle: acceptInvitation },
  ];
}

async function currentSession({ exchange, deps }: OpenCall): Promise<ConsoleAnswer> {
  const session = sessionOf(exchange.request);
  const user = session === null ? null : await deps.store.users.findSession(session);
  return { body: user === null ? SIGNED_OUT : await sessionBody(deps, user) };
}

/** Responds with `use` of the invitation in the body. A valid invitation does not count as an attempt. */
async function withInvitation(
  call: OpenCall,
  byAddress: AttemptLimiter,
  use: (hash: Buffer) => Promise<object | null>,
): Promise<ConsoleAnswer> {
  const address = addressOf(call);
  await byAddress.take(address);
  const { token } = parse(INVITATION, await call.body());
  const body = await use(secretHash(token));
  if (body === null) throw invalidInvitation();
  await byAddress.giveBack(address);
  return { body };
}

async function createUser(
  { deps }: OpenCall,
  wanted: {
    email: string;
    password: string;
    organization?: string | undefined;
    invitation?: string | undefined;
  },
): Promise<User> {
  const { email, organization, invitation } = wanted;
  if (organization === undefined && invitation === undefined) {
    throw new ConsoleError("name_required", "organization or invitation is required");
  }
  const passwordHash = await hashPassword(wanted.password, deps.passwordCost);
  const person = { email, passwordHash };
  const user =
    invitation === undefined
      ? await deps.store.users.signUp({ ...person, organizationName: organization ?? "" })
      : await deps.store.users.signUpInvited({ ...person, invitation: secretHash(invitation) });
  if (user === "invalid") throw invalidInvitation();
  if (user === null || user === "taken") {
    throw new ConsoleError(
      "email_taken",
      "an account with this e-mail address already exists; sign in instead",
    );
  }
  return user;
}

async function signOut({ exchange, deps }: OpenCall): Promise<ConsoleAnswer> {
  const session = sessionOf(exchange.request);
  if (session !== null) await endSession(deps, session);
  return { body: SIGNED_OUT, headers: { "set-cookie": endedCookie(exchange.request) } };
}

/** Deletes the user with all sessions and memberships. Ledger entries remain. */
function deleteAccount(byEmail: AttemptLimiter): (call: UserCall) => Promise<ConsoleAnswer> {
  return async (call) => {
    const { exchange, deps, user } = call;
    const { password } = parse(DELETION, await call.body());
    await requirePassword(call, password, byEmail);
    const removal = await deps.store.users.remove(user.id);
    if (removal.type === "last-owner") {
      const names = removal.organizations.map((name) => `"${name}"`).join(", ");
      throw new ConsoleError(
        "sole_owner",
        `you are the only owner of ${names}; make another member an owner first`,
      );
    }
    deps.endings.endUser(user.id);
    for (const id of removal.revokedKeyIds) deps.endings.endKey(id);
    return { body: SIGNED_OUT, headers: { "set-cookie": endedCookie(exchange.request) } };
  };
}

function invalidInvitation(): ConsoleError {
  return new ConsoleError(
    "invitation_invalid",
    "the invitation is unknown, used, withdrawn or expired; ask for a new one",
  );
}
