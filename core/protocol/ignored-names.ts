const MAX_NAMES = 20;
/** Names that fit a header without escapes. */
const NAME = /^[\w.[\]-]{1,40}$/;

/** Returns a header with the names that were sent but have no effect, if there are any. */
export function ignoredHeader(names: Iterable<string>): Readonly<Record<string, string>> {
  const shown = [...new Set(names)].filter((name) => NAME.test(name) && !name.includes("sk-svc-"));
  return shown.length === 0 ? {} : { "x-svc-ignored": shown.slice(0, MAX_NAMES).join(",") };
}
