import { z } from "zod";
import type { ReadingOptions } from "../domain/text/display/reading.js";
import { NUMERALS } from "../domain/text/figures/figures.js";
import { REDACTED_KINDS, type RedactedKind } from "../domain/text/redaction/redact.js";
import { flag, oneOf, shown } from "./fields.js";

/** Kinds of personal data, separated by commas. */
const REDACT = z
  .string()
  .default("")
  .transform((value, context): readonly RedactedKind[] => {
    const names = value
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    const unknown = names.find((name) => !REDACTED_KINDS.some((kind) => kind === name));
    if (unknown === undefined) return REDACTED_KINDS.filter((kind) => names.includes(kind));
    const message = `redact must be a list of ${REDACTED_KINDS.join(", ")}, received ${shown(unknown)}`;
    context.issues.push({ code: "custom", message, input: value });
    return z.NEVER;
  });

/** Parameters that make transcripts readable. */
export const READING_FIELDS = {
  display: flag("display", false).meta({
    description: "Adds `display_text`, with capitals, punctuation and digits; an extension",
  }),
  numerals: oneOf("numerals", NUMERALS, { otherwise: "auto", code: "INVALID_REQUEST" }).meta({
    description:
      "Numbers in `display_text`: `auto` writes digits from ten on and before months, units and " +
      "money, `all` always, " +
      "`none` never; an extension",
  }),
  redact: REDACT.meta({
    type: "string",
    description:
      `Masks personal data in every text of the response: ` +
      `${REDACTED_KINDS.map((kind) => `\`${kind}\``).join(", ")}, ` +
      "separated by commas; an extension",
  }),
};

/** Returns the options, or null if the client wants the plain transcript. */
export function readingOf(options: ReadingOptions): ReadingOptions | null {
  const { display, numerals, redact } = options;
  return display || redact.length > 0 ? { display, numerals, redact } : null;
}
