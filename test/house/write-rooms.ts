import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withRoomsTable } from "./rooms-table.js";
import { ROOT } from "./sources.js";

const path = join(ROOT, "ARCHITECTURE.md");
writeFileSync(path, withRoomsTable(readFileSync(path, "utf8")));
console.log("ARCHITECTURE.md has the table of test/house/rooms.ts");
