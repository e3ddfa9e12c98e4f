/** Parses entries of the form `written: spoken`, separated by semicolons. */
export function wordTable(entries: string): Readonly<Record<string, string>> {
  const rows = entries.split(";").map((entry) => entry.split(":").map((part) => part.trim()));
  return Object.fromEntries(rows.map(([written = "", spoken = ""]) => [written, spoken]));
}
