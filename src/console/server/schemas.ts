import { z } from "zod";
import {
  DEFAULT_OVERLAP_S,
  KEY_ENDPOINTS,
  LARGEST_MONTHLY_CREDITS,
  LONGEST_OVERLAP_S,
  orderedEndpoints,
} from "../../../core/domain/key-limits.js";
import { MAIL_LANGUAGES } from "../../../core/ports/mailer.js";
import { requireKnownNames } from "../../../core/protocol/fields.js";
import { ConsoleError, type ConsoleErrorCode, isConsoleErrorCode } from "./console-error.js";
import { toEmail } from "./email.js";

// The message of each rule is the error code of the response.
const code = (name: ConsoleErrorCode) => ({ error: name });

/** Characters that PostgreSQL cannot store (NUL, lone surrogates) or that lists cannot show. */
const UNFIT = /[\p{Cc}\p{Cs}]/u;

const EMAIL = z.string(code("email_invalid")).transform((value, context) => {
  const email = toEmail(value);
  if (email !== null) return email;
  context.issues.push({ code: "custom", message: "email_invalid", input: undefined });
  return z.NEVER;
});
const PASSWORD = z
  .string(code("password_short"))
  .min(10, code("password_short"))
  .max(200, code("password_long"));
const NAME = z
  .string(code("name_required"))
  .trim()
  .min(1, code("name_required"))
  .max(80, { ...code("name_long"), abort: true })
  .refine((name) => !UNFIT.test(name), code("name_invalid"));
const SECRET = z.string(code("invitation_invalid")).regex(/^[A-Za-z0-9_-]{43}$/, code("invitation_invalid"));
const ROLE = z.enum(["owner", "member"], code("invalid_request"));

export const SIGN_UP = z.object({
  email: EMAIL,
  password: PASSWORD,
  /** Name of the new organization; used without an invitation. */
  organization: NAME.optional(),
  invitation: SECRET.optional(),
});
export const SIGN_IN = z.object({
  email: EMAIL,
  password: z.string(code("wrong_credentials")).max(200, code("wrong_credentials")),
});
const CURRENT_PASSWORD = z.string(code("wrong_password")).max(200, code("wrong_password"));
export const NEW_PASSWORD = z.object({ current: CURRENT_PASSWORD, password: PASSWORD });
export const DELETION = z.object({ password: CURRENT_PASSWORD });
const RESET_SECRET = z.string(code("reset_invalid")).regex(/^[A-Za-z0-9_-]{43}$/, code("reset_invalid"));
export const RESET = z.object({ token: RESET_SECRET });
export const RESET_USE = z.object({ token: RESET_SECRET, password: PASSWORD });
export const INVITATION = z.object({ token: SECRET });
export const RENAMING = z.object({ name: NAME });
const LANGUAGE = z.enum(MAIL_LANGUAGES, code("invalid_request")).optional();
export const NEW_INVITATION = z.object({
  role: ROLE,
  /** Address to which the link is sent. */
  email: EMAIL.optional(),
  language: LANGUAGE,
});
export const NEW_RESET = z.object({ email: EMAIL, language: LANGUAGE });
export const NEW_ROLE = z.object({ role: ROLE });
export const REMOVAL = z.object({
  /** Whether to revoke the member's keys as well. */
  revoke_keys: z
    .enum(["true", "false"], code("invalid_request"))
    .default("false")
    .transform((value) => value === "true"),
});

/** Limits of a key; null removes a limit. */
const KEY_LIMITS = {
  monthly_credits: z
    .int(code("cap_invalid"))
    .min(1, code("cap_invalid"))
    .max(LARGEST_MONTHLY_CREDITS, code("cap_invalid"))
    .nullable(),
  endpoints: z
    .array(z.enum(KEY_ENDPOINTS, code("endpoints_invalid")), code("endpoints_invalid"))
    .min(1, code("endpoints_invalid"))
    .transform(orderedEndpoints)
    .nullable(),
  expires_at: z
    .string(code("expiry_invalid"))
    .max(40, code("expiry_invalid"))
    .transform((value, context) => {
      const moment = new Date(value);
      if (moment.getTime() > Date.now() && moment.getUTCFullYear() <= 9_999) return moment;
      context.issues.push({ code: "custom", message: "expiry_invalid", input: undefined });
      return z.NEVER;
    })
    .nullable(),
};
export const NEW_KEY = z.object({
  name: NAME,
  monthly_credits: KEY_LIMITS.monthly_credits.default(null),
  endpoints: KEY_LIMITS.endpoints.default(null),
  expires_at: KEY_LIMITS.expires_at.default(null),
});
export const KEY_CHANGE = z.object({
  monthly_credits: KEY_LIMITS.monthly_credits.optional(),
  endpoints: KEY_LIMITS.endpoints.optional(),
  expires_at: KEY_LIMITS.expires_at.optional(),
});
export const ROTATION = z.object({
  overlap_seconds: z
    .int(code("overlap_invalid"))
    .min(0, code("overlap_invalid"))
    .max(LONGEST_OVERLAP_S, code("overlap_invalid"))
    .default(DEFAULT_OVERLAP_S),
});
export const REDEMPTION = z.object({
  code: z
    .string(code("voucher_invalid"))
    .trim()
    .min(1, code("voucher_invalid"))
    .max(60, code("voucher_invalid")),
});
/** A UTC day or a time in JavaScript's format, within the years that a date input accepts. */
const MOMENT = z
  .string(code("invalid_request"))
  .max(30, code("invalid_request"))
  .transform((value, context) => {
    const moment = new Date(value);
    if (moment.getTime() >= 0 && moment.getUTCFullYear() <= 9_999) return moment;
    context.issues.push({ code: "custom", message: "invalid_request", input: undefined });
    return z.NEVER;
  });
const LEDGER_FILTER = {
  kind: z.enum(["grant", "topup", "charge", "refund"], code("invalid_request")).optional(),
  from: MOMENT.optional(),
  until: MOMENT.optional(),
};
export const LEDGER_EXPORT = z.object(LEDGER_FILTER);
export const LEDGER_PAGE = z.object({
  ...LEDGER_FILTER,
  before: z.coerce.number(code("invalid_request")).int().positive().max(Number.MAX_SAFE_INTEGER).optional(),
});
export const USAGE_DAYS = z.object({
  days: z.coerce.number(code("invalid_request")).int().min(1).max(366).default(30),
});

/** @throws {ConsoleError} with the code of the first broken rule; {ServiceError} for an unknown field */
export function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  if (schema instanceof z.ZodObject && typeof value === "object" && value !== null) {
    requireKnownNames("field", Object.keys(value), Object.keys(schema.shape));
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const message = issue?.message ?? "";
  const code = isConsoleErrorCode(message) ? message : "invalid_request";
  throw new ConsoleError(code, `invalid ${issue?.path.join(".") || "body"}: ${message}`);
}
