type Json = Readonly<Record<string, unknown>>;

/** @throws {Error} unless the field is a string that is not empty */
export function requireString(record: Json, field: string): string {
  const value = record[field];
  if (typeof value !== "string" || value === "")
    throw new Error(`${field} must be a string, found ${String(value)}`);
  return value;
}

/** @throws {Error} unless the field is a finite number */
export function requireNumber(record: Json, field: string): number {
  const value = record[field];
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new Error(`${field} must be a number, found ${String(value)}`);
  }
  return value;
}

/** @throws {Error} unless the field is a whole number of at least 1 */
export function requireCount(record: Json, field: string): number {
  const value = requireNumber(record, field);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`${field} must be a whole number of at least 1, found ${value}`);
  }
  return value;
}

/** @throws {Error} unless the field is one of `choices` */
export function requireChoice<T extends string>(record: Json, field: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === record[field]);
  if (found !== undefined) return found;
  throw new Error(`${field} must be one of ${choices.join(", ")}, found ${String(record[field])}`);
}

/** @throws {Error} unless the field is a list of so many whole numbers of at least 1 */
export function requireCounts(record: Json, field: string, length: number): number[] {
  const value = record[field];
  const isRight = Array.isArray(value) && value.length === length;
  if (isRight && value.every((count) => Number.isInteger(count) && count >= 1)) return value as number[];
  throw new Error(`${field} must be ${length} whole numbers of at least 1, found ${JSON.stringify(value)}`);
}
