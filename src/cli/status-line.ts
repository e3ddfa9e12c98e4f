const CLEAR_LINE = "\r\x1b[K";

let shown = "";

/**
 * Replaces the status line at the bottom of the terminal.
 *
 * @param line shorter than the terminal's width, because a wrapped line cannot be overwritten; empty for none
 */
export function showStatus(line: string): void {
  if (line === shown) return;
  shown = line;
  process.stderr.write(CLEAR_LINE + line);
}

/** Runs `write`, which writes whole lines, and puts them above the status line. */
export function aboveStatus(write: () => void): void {
  const line = shown;
  showStatus("");
  write();
  showStatus(line);
}
