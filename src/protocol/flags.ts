import { SpeechError } from "../domain/errors.js";

/** A boolean in a query or a form: true, false, 1 or 0 in any case. @throws {SpeechError} `INVALID_REQUEST` */
export function parseFlag(name: string, value: string | null, otherwise: boolean): boolean {
  if (value === null) return otherwise;
  const lower = value.toLowerCase();
  if (lower === "true" || lower === "1") return true;
  if (lower === "false" || lower === "0") return false;
  const shown = JSON.stringify(value.slice(0, 40));
  throw new SpeechError("INVALID_REQUEST", `${name} must be true, false, 1 or 0, received ${shown}`);
}
