// Writes the sha256 of every file of a package into its manifest: `node scripts/seal-model.mjs models/<id>`.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

for (const folder of process.argv.slice(2)) {
  const path = join(folder, "manifest.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  let bytes = 0;
  const files = Object.values(manifest.files).flatMap((file) =>
    file.gpu === undefined ? [file] : [file, file.gpu],
  );
  for (const file of files) {
    const content = readFileSync(join(folder, file.path));
    bytes += content.length;
    file.sha256 = createHash("sha256").update(content).digest("hex");
  }
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
  console.log(`${path}: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB`);
}
