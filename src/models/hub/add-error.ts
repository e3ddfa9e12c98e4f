/** A package cannot be added; the message is for the operator. */
export class AddError extends Error {
  override readonly name = "AddError";
}

/** A failure worth a retry. */
export class TransientError extends Error {
  override readonly name = "TransientError";
  /** The pause that the server requests, or null. */
  readonly afterMs: number | null;

  constructor(
    message: string,
    { afterMs = null, cause }: { readonly afterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.afterMs = afterMs;
  }
}
