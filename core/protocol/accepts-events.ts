const EVENTS = "text/event-stream";
const JSON_TYPES = ["application/json", "application/*", "*/*"];

/**
 * Whether a client would rather have server-sent events than JSON: it names them, and nothing that is JSON with a higher
 * quality, or with the same and before them.
 *
 * @param accept the header `Accept`, if there is one
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
