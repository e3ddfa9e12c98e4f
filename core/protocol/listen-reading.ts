import { z } from "zod";
import type { ReadingOptions } from "../domain/text/display/reading.js";
import { flag, parseWith } from "./fields.js";
import { READING_FIELDS, readingOf } from "./reading-query.js";

/** Deepgram's parameters for readable transcripts. */
export const LISTEN_READING_FIELDS = {
  punctuate: flag("punctuate", false).meta({
    description: "Capitals and punctuation in `transcript`, and `punctuated_word` with them",
  }),
  smart_format: flag("smart_format", false).meta({ description: "As `punctuate` and `numerals`" }),
  numerals: flag("numerals", false).meta({
    description: "Numbers as digits in `transcript` and `words`; alone, without capitals and punctuation",
  }),
  redact: z
    .string()
    .optional()
    .meta({
      description:
        "Personal data to mask: `phone`, `iin`, `card`, `email`, separated by commas or repeated; " +
        "other kinds are rejected",
    }),
};

/** How a client of Deepgram's interface wants to receive text. */
export interface ListenReading {
  /** Null for the plain transcript. */
  readonly reading: ReadingOptions | null;
  /** Texts have capitals and punctuation. */
  readonly hasMarks: boolean;
}

interface ListenReadingFields {
  readonly punctuate: boolean;
  readonly smart_format: boolean;
  readonly numerals: boolean;
}

const REDACT = z.object({ redact: READING_FIELDS.redact });

/** @throws {ServiceError} `INVALID_REQUEST` for unknown kinds of data */
export function listenReading(
  query: URLSearchParams,
  { punctuate, smart_format, numerals }: ListenReadingFields,
): ListenReading {
  const hasMarks = punctuate || smart_format;
  const hasFigures = numerals || smart_format;
  const kinds = query.getAll("redact").filter((value) => value !== "false");
  const { redact } = parseWith(REDACT, { redact: kinds.join(",") });
  return {
    hasMarks,
    reading: readingOf({
      display: hasMarks || hasFigures,
      numerals: hasFigures ? "auto" : "none",
      redact,
    }),
  };
}
