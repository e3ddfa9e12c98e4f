const MAX_NAMES = 20;
/** As vendors write theirs: what fits a header as it is. */
const NAME = /^[\w.[\]-]{1,40}$/;

/** Names that were given and have no effect, as a header of the answer; nothing where there are none. */
export function ignoredHeader(names: Iterable<string>): Readonly<Record<string, string>> {
  const shown = [...new Set(names)].filter((name) => NAME.test(name) && !name.includes("sk-svc-"));
  return shown.length === 0 ? {} : { "x-svc-ignored": shown.slice(0, MAX_NAMES).join(",") };
}
