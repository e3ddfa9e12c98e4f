/**
 * Values of a service's `/metrics` at one moment: by name, summed over labels, and by name with labels.
 */
export type MetricValues = ReadonlyMap<string, number>;

/** Reads `/metrics` on the operator port of a service on this machine. */
export async function readMetrics(operatorPort: number): Promise<MetricValues> {
  const answer = await fetch(`http://127.0.0.1:${operatorPort}/metrics`);
  if (!answer.ok) throw new Error(`/metrics answered ${answer.status}`);
  const values = new Map<string, number>();
  for (const line of (await answer.text()).split("\n")) {
    const match = /^([a-z_]+)(\{[^}]*\})? (\S+)$/.exec(line);
    if (match === null) continue;
    const [, name = "", labels, value] = match;
    values.set(name, (values.get(name) ?? 0) + Number(value));
    if (labels !== undefined) values.set(name + labels, Number(value));
  }
  return values;
}

/** Returns the increase of a counter. */
export function risen(before: MetricValues, after: MetricValues, name: string): number {
  return (after.get(name) ?? 0) - (before.get(name) ?? 0);
}
