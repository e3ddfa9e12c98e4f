/** Limit of RFC 5321, section 4.5.3.1.3, not counting the angle brackets. */
const LONGEST_EMAIL = 254;
/** Limit including white space around the address. */
const LONGEST_INPUT = 1_000;
const UNFIT = /[\s\p{Cc}\p{Cs}]/u;

/**
 * Normalizes an e-mail address: lower case, without surrounding white space. Returns null unless it has the
 * form `something@name.name`. Does not check whether the address exists. Limits the length first; the time is
 * linear in it.
 */
export function toEmail(input: string): string | null {
  if (input.length > LONGEST_INPUT) return null;
  const email = input.trim().toLowerCase();
  if (email.length > LONGEST_EMAIL || UNFIT.test(email)) return null;
  const at = email.indexOf("@");
  if (at < 1 || at !== email.lastIndexOf("@")) return null;
  const dot = email.indexOf(".", at + 2);
  return dot > 0 && dot < email.length - 1 ? email : null;
}
