import { speakerName } from "./subtitles.js";

/** What one speaker says without a break. */
interface SpokenPart {
  /** From 0. */
  readonly speaker?: number | undefined;
  readonly text: string;
  /** Used if present. */
  readonly display_text?: string | undefined;
}

/** Joins the segments of a transcript to a line for each turn of a speaker; empty ones are left out. */
export function speakerLines(segments: readonly SpokenPart[], nameOf = speakerName): readonly string[] {
  const turns: { readonly speaker: number; text: string }[] = [];
  for (const { speaker = 0, text, display_text = text } of segments) {
    if (display_text === "") continue;
    const last = turns.at(-1);
    if (last?.speaker === speaker) last.text += ` ${display_text}`;
    else turns.push({ speaker, text: display_text });
  }
  return turns.map(({ speaker, text }) => `${nameOf(speaker)}: ${text}`);
}
