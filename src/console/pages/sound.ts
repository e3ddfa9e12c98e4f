let pausePlaying: (() => void) | null = null;

/** Pauses other playback on the page. Call it before playing, with a function that pauses the new sound. */
export function claimPlayback(pause: () => void): void {
  if (pausePlaying !== pause) pausePlaying?.();
  pausePlaying = pause;
}
