let hush: (() => void) | null = null;

/** Whoever makes a page sound says so first, and how it falls silent: what sounded before does, so nothing is heard twice. */
export function takeSound(makeQuiet: () => void): void {
  if (hush !== makeQuiet) hush?.();
  hush = makeQuiet;
}
