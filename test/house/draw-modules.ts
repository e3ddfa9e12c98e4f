import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pictures } from "./layers.js";
import { ROOT } from "./sources.js";

for (const [path, svg] of pictures()) {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true });
  writeFileSync(join(ROOT, path), svg);
  console.log(path);
}
