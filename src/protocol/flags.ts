import { flag, parseWith } from "./fields.js";

/** A boolean in a query or a form: true, false, 1 or 0 in any case. @throws {SpeechError} `INVALID_REQUEST` */
export function parseFlag(name: string, value: string | null, otherwise: boolean): boolean {
  return parseWith(flag(name, otherwise), value);
}
