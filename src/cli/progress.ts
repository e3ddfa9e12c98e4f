import type { UploadProgress } from "../client/transport.js";
import type { CommandInput } from "./command.js";
import { showStatus } from "./status-line.js";
import { widthOf } from "./table.js";

const REDRAW_MS = 100;
const DEFAULT_COLUMNS = 80;
const BAR_CELLS = 16;
/** Before this time, the time left cannot be estimated. */
const RATE_AFTER_MS = 1_000;
const LONGEST_NAME = 24;

interface LineStyle {
  readonly columns: number;
  readonly hasColor: boolean;
}

/** Part of a status line: text, or a bar that is filled to a share of 0 to 1. */
export type LinePart = string | { readonly share: number };

/**
 * Runs `work` while showing a status line, if standard error is a terminal and `--quiet` is not set.
 *
 * @param parts called for each redraw of the line
 */
export async function withProgress<T>(
  { options, environment }: CommandInput,
  parts: () => readonly LinePart[],
  work: () => Promise<T>,
): Promise<T> {
  const stream = process.stderr;
  if (stream.isTTY !== true || options.isSet("quiet") || environment["TERM"] === "dumb") return await work();
  // Any value except the empty string turns color off: https://no-color.org
  const hasColor = !environment["NO_COLOR"];
  const draw = () => showStatus(drawn(parts(), { columns: stream.columns || DEFAULT_COLUMNS, hasColor }));
  draw();
  const timer = setInterval(draw, REDRAW_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    showStatus("");
  }
}

/** Formats a line for a terminal, one column shorter than its width. */
export function drawn(parts: readonly LinePart[], { columns, hasColor }: LineStyle): string {
  let line = "";
  let left = columns - 1;
  for (const [index, part] of parts.entries()) {
    const text = typeof part === "string" ? printable(part) : bar(part.share);
    const gap = index === 0 ? "" : "  ";
    const cut = cutTo(gap + text, left);
    left -= widthOf(cut);
    line += hasColor && typeof part !== "string" ? cut.replace(/#+/, "\x1b[36m$&\x1b[0m") : cut;
  }
  return line;
}

/** Progress of one recording: upload, then transcription. */
export class CallProgress {
  readonly #name: string;
  readonly #now: () => number;
  #stage: "waiting" | "uploading" | "transcribing" = "waiting";
  #stageSinceMs: number;
  #upload: UploadProgress = { sentBytes: 0, totalBytes: null };
  /** Transcribed share of the audio; null until the service reports it. */
  #transcribed: number | null = null;

  /** @param now returns milliseconds of a monotonic clock */
  constructor(name: string, now: () => number = () => performance.now()) {
    this.#name = name;
    this.#now = now;
    this.#stageSinceMs = now();
  }

  /** Reports upload progress. Fewer bytes than before mean a retry. */
  sent(upload: UploadProgress): void {
    if (this.#stage !== "uploading" || upload.sentBytes < this.#upload.sentBytes) this.#enter("uploading");
    this.#upload = upload;
    if (upload.sentBytes === upload.totalBytes) this.#enter("transcribing");
  }

  /** Reports that the upload is complete, or that the service downloads the audio itself. */
  transcribing(): void {
    this.#enter("transcribing");
  }

  transcribed(share: number): void {
    this.#enter("transcribing");
    this.#transcribed = share;
  }

  /** Returns a status line with a bar, sizes and the time left. */
  parts(): readonly LinePart[] {
    const name = shortened(this.#name);
    const sinceMs = this.#now() - this.#stageSinceMs;
    if (this.#stage === "waiting") return [name];
    if (this.#stage === "transcribing") {
      const soFar = `${clock(sinceMs)} so far`;
      if (this.#transcribed === null) return [name, `transcribing, ${soFar}`];
      const share = this.#transcribed;
      return [name, "transcribing", { share }, `${percent(share)} %`, soFar];
    }
    const { sentBytes, totalBytes } = this.#upload;
    if (totalBytes === null) return [name, `${megabytes(sentBytes)} MB sent, ${clock(sinceMs)} so far`];
    const share = sentBytes / totalBytes;
    const sizes = `${megabytes(sentBytes)} of ${megabytes(totalBytes)} MB`;
    const hasRate = sinceMs >= RATE_AFTER_MS && sentBytes > 0;
    const left = hasRate ? [`${clock((sinceMs * (totalBytes - sentBytes)) / sentBytes)} left`] : [];
    // The sizes come last, because narrow terminals cut off the end.
    return [name, "uploading", { share }, `${percent(share)} %`, ...left, sizes];
  }

  /** Returns a short form for a line with several recordings. */
  short(): string {
    const name = shortened(this.#name);
    const { sentBytes, totalBytes } = this.#upload;
    if (this.#stage === "transcribing") {
      const sinceMs = this.#now() - this.#stageSinceMs;
      return `${name} ${this.#transcribed === null ? clock(sinceMs) : `${percent(this.#transcribed)} %`}`;
    }
    if (this.#stage === "waiting" || totalBytes === null) return name;
    return `${name} ${percent(sentBytes / totalBytes)} %`;
  }

  #enter(stage: "uploading" | "transcribing"): void {
    if (stage === "transcribing" && this.#stage === stage) return;
    this.#stage = stage;
    this.#stageSinceMs = this.#now();
    this.#transcribed = null;
  }
}

/** Formats a duration as "0:07" or "1:02:03". */
export function clock(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

export function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

function bar(share: number): string {
  const filled = Math.floor(Math.min(1, share) * BAR_CELLS);
  return `[${"#".repeat(filled)}${"-".repeat(BAR_CELLS - filled)}]`;
}

/** Rounds down, so that 100 means complete. */
function percent(share: number): number {
  return Math.floor(share * 100);
}

/** Keeps the end of a long path, which is its most specific part. */
function shortened(name: string): string {
  const characters = Array.from(name);
  return characters.length <= LONGEST_NAME ? name : `...${characters.slice(3 - LONGEST_NAME).join("")}`;
}

function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}

function cutTo(text: string, columns: number): string {
  let width = 0;
  let cut = "";
  for (const character of text) {
    width += widthOf(character);
    if (width > columns) break;
    cut += character;
  }
  return cut;
}
