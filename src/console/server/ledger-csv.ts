import type { LedgerEntry } from "../../../core/ports/console-store.js";

export const LEDGER_CSV_TITLES = "time,kind,credits,request_id,endpoint,key,balance\r\n";

/** One line of the export, as RFC 4180 has it. */
export function ledgerCsvLine(entry: LedgerEntry): string {
  const { createdAt, kind, amount, requestId, endpoint, keyName, balance } = entry;
  const texts = [requestId ?? "", endpoint ?? "", keyName ?? ""].map(cell);
  return `${[createdAt.toISOString(), kind, amount, ...texts, balance].join(",")}\r\n`;
}

/** Spreadsheets take a text that begins like a formula for one: names are chosen by people. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
