import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { plots } from "./pictures.js";
import { ROOT } from "./results.js";

for (const [path, svg] of plots()) {
  const file = `${ROOT}${path}`;
  if (existsSync(file) && readFileSync(file, "utf8") === svg) continue;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, svg);
  console.log(`${path} written`);
}
