/** Thrown if a package cannot be added. The message is meant for the operator. */
export class AddError extends Error {
  override readonly name = "AddError";
}

/** A failure that may not recur if the request is repeated. */
export class TransientError extends Error {
  override readonly name = "TransientError";
  /** The pause that the server requests; null without one. */
  readonly afterMs: number | null;

  constructor(
    message: string,
    { afterMs = null, cause }: { readonly afterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.afterMs = afterMs;
  }
}
