const EVENTS = "text/event-stream";
const JSON_TYPES = ["application/json", "application/*", "*/*"];

/**
 * Returns whether a client prefers server-sent events to JSON: it lists them, and no JSON type with a higher
 * quality, or with the same quality before them.
 *
 * @param accept the `Accept` header
 */
export function acceptsEvents(accept: string | undefined): boolean {
  const ranges = (accept ?? "").split(",").map(rangeOf);
  const events = ranges.findIndex(({ type, quality }) => type === EVENTS && quality > 0);
  if (events < 0) return false;
  const { quality } = ranges[events]!;
  return !ranges.some(
    (range, at) =>
      JSON_TYPES.includes(range.type) &&
      (range.quality > quality || (range.quality === quality && at < events)),
  );
}

function rangeOf(range: string): { readonly type: string; readonly quality: number } {
  const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  const quality = weight === undefined ? 1 : Number(weight.slice(2));
  return { type, quality: Number.isNaN(quality) ? 0 : quality };
}
