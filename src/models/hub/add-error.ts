/** A package cannot be added, and why; the message is for the operator. */
export class AddError extends Error {
  override readonly name = "AddError";
}

/** The same may work a little later. */
export class PassingError extends Error {
  override readonly name = "PassingError";
  /** How long the server asks to be left alone; null when it does not. */
  readonly afterMs: number | null;

  constructor(
    message: string,
    { afterMs = null, cause }: { readonly afterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.afterMs = afterMs;
  }
}
