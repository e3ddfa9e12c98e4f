/** Options of `npm run bench` for one bench. */
export interface BenchOptions {
  /** Small inputs that show that the bench works; its figures are not saved. */
  readonly smoke: boolean;
  /** The command line without the bench's name and `--smoke`. */
  readonly args: readonly string[];
}
