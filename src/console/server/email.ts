/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const LONGEST_EMAIL = 254;
/** Including white space around the address. */
const LONGEST_INPUT = 1_000;
const UNFIT = /[\s\p{Cc}\p{Cs}]/u;

/**
 * Normalizes an e-mail address to lower case without white space around it. Null when it is not of the form
 * `something@name.name`. Nobody checks whether it exists. Linear in the length, which is limited first.
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
