let pausePlaying: (() => void) | null = null;

/** Pauses what plays elsewhere on the page; call it before playing, with a function that pauses the new sound. */
export function claimPlayback(pause: () => void): void {
  if (pausePlaying !== pause) pausePlaying?.();
  pausePlaying = pause;
}
