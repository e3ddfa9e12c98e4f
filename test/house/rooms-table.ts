import { ROOMS } from "./rooms.js";

const BEGIN = "<!-- rooms: written by `npm run rooms` -->";
const END = "<!-- /rooms -->";

/** The allow table as Markdown. */
function roomsTable(): string {
  const rows = ROOMS.map(({ folders, holds, imports, packages }) =>
    [code(folders, "<br>"), holds, code(imports, " "), code(packages, " ")].join(" | "),
  );
  return [
    "| Room | Holds | May import | Packages, and groups of node's modules |",
    "|---|---|---|---|",
    ...rows.map((row) => `| ${row} |`),
  ].join("\n");
}

/** `document` with the table between its two marks. */
export function withRoomsTable(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`the document has no ${BEGIN} with ${END} behind it`);
  return `${document.slice(0, begin + BEGIN.length)}\n${roomsTable()}\n${document.slice(end)}`;
}

function code(names: readonly string[], between: string): string {
  return names.map((name) => `\`${name}\``).join(between);
}
