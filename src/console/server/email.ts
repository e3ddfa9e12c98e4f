/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const LONGEST_EMAIL = 254;
/** White space around an address is forgiven up to here. */
const LONGEST_INPUT = 1_000;
const UNFIT = /[\s\p{Cc}\p{Cs}]/u;

/**
 * An address as it is kept, in lower case and without white space around it; null when it cannot be one: something, `@`,
 * and a name with a dot inside. Whether somebody reads mail there is never known. Takes time by length, and that is bounded
 * first.
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
