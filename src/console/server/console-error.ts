/** HTTP statuses of the console's error codes. The pages have a text for each code in every language. */
export const CONSOLE_ERRORS = {
  invalid_request: 400,
  email_invalid: 400,
  password_short: 400,
  password_long: 400,
  name_required: 400,
  name_long: 400,
  name_invalid: 400,
  cap_invalid: 400,
  endpoints_invalid: 400,
  expiry_invalid: 400,
  overlap_invalid: 400,
  not_signed_in: 401,
  wrong_credentials: 401,
  wrong_password: 403,
  cross_site: 403,
  owner_only: 403,
  not_found: 404,
  invitation_invalid: 404,
  reset_invalid: 404,
  voucher_invalid: 404,
  email_taken: 409,
  last_owner: 409,
  sole_owner: 409,
  too_many_keys: 409,
  too_many_attempts: 429,
  busy: 503,
  mail_unavailable: 409,
  unavailable: 503,
} as const;

export type ConsoleErrorCode = keyof typeof CONSOLE_ERRORS;

/** A rejected request; the page shows its text in the user's language. */
export class ConsoleError extends Error {
  override readonly name = "ConsoleError";
  readonly code: ConsoleErrorCode;
  readonly retryAfterSeconds: number | null;

  constructor(code: ConsoleErrorCode, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function isConsoleErrorCode(text: string): text is ConsoleErrorCode {
  return Object.hasOwn(CONSOLE_ERRORS, text);
}

export function noMail(): ConsoleError {
  return new ConsoleError("mail_unavailable", "this service has no mail server; pass the link on yourself");
}
