let hush: (() => void) | null = null;

/** A part that is about to sound says so, and how to silence it: what sounded before falls silent, so nothing is heard twice. */
export function takeSound(makeQuiet: () => void): void {
  if (hush !== makeQuiet) hush?.();
  hush = makeQuiet;
}
