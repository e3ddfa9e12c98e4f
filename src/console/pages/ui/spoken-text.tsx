import { useEffect, useMemo, useRef } from "preact/hooks";
import type { WordTime } from "../../../../core/domain/synthesis/word-time.js";
import { useTranslation } from "../text/language.js";

interface SpokenTextProps {
  readonly text: string;
  /** Null when none is being said. */
  readonly word: WordTime | null;
}

/** A text with the word that is being said marked. Nothing tells screen readers about the mark: they hear the speech. */
export function SpokenText({ text, word }: SpokenTextProps) {
  const { t } = useTranslation();
  const box = useRef<HTMLElement>(null);
  const letters = useMemo(() => [...text], [text]);
  const { from, to } = word ?? { from: letters.length, to: letters.length };
  const part = (begin: number, end?: number) => letters.slice(begin, end).join("");
  useEffect(() => keepInSight(box.current), [from]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
    <section ref={box} class="spoken" lang="kk" aria-label={t("spokenText")} tabIndex={0}>
      {part(0, from)}
      {from < to && <mark>{part(from, to)}</mark>}
      {part(to)}
    </section>
  );
}

/** Scrolls the box by itself, and never the page. */
function keepInSight(box: HTMLElement | null): void {
  const mark = box?.querySelector("mark");
  if (!box || !mark) return;
  const isAbove = mark.offsetTop < box.scrollTop;
  const isBelow = mark.offsetTop + mark.offsetHeight > box.scrollTop + box.clientHeight;
  if (isAbove || isBelow) box.scrollTop = mark.offsetTop - mark.offsetHeight;
}
