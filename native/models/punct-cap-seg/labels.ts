import type { Mark } from "../../../core/domain/text/display/marks.js";

/** Labels after a piece: no mark, or a full stop after each letter. */
const NO_MARK = "<NULL>";
export const ACRONYM = "<ACRONYM>";

/** Marks of other scripts are written as ours, since Kazakh and Russian texts have no others. */
export const MARK_OF_LABEL = {
  [NO_MARK]: "",
  [ACRONYM]: "",
  ".": ".",
  ",": ",",
  "?": "?",
  "？": "?",
  "，": ",",
  "。": ".",
  "、": ",",
  "・": "",
  "।": ".",
  "؟": "?",
  "،": ",",
  ";": "?",
  "።": ".",
  "፣": ",",
  "፧": "?",
} as const satisfies Readonly<Record<string, Mark>>;

export type PostLabel = keyof typeof MARK_OF_LABEL;

export const POST_LABELS = Object.keys(MARK_OF_LABEL) as [PostLabel, ...PostLabel[]];
