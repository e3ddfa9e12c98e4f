const CLEAR_LINE = "\r\x1b[K";

/** What stands on the last line of the terminal now. */
let shown = "";

/**
 * Writes one line at the bottom of the terminal over the one before it; empty takes it away.
 *
 * @param line shorter than the terminal is wide: a line that wraps could not be overwritten
 */
export function showStatus(line: string): void {
  if (line === shown) return;
  shown = line;
  process.stderr.write(CLEAR_LINE + line);
}

/** Has `write` write whole lines, above the status line when there is one. */
export function aboveStatus(write: () => void): void {
  const line = shown;
  showStatus("");
  write();
  showStatus(line);
}
