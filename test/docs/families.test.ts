import assert from "node:assert/strict";
import { test } from "node:test";
import { FAMILIES } from "../../native/models/families.js";
import { findPackages } from "../../native/models/find-packages.js";
import { TINY_PACKAGES } from "../support/tiny-packages.js";
import { codeSpans, read, section, tableRows } from "./markdown.js";

const OWN = new Set((await findPackages("models")).map(({ manifest }) => manifest.family));
const TINY = new Set(TINY_PACKAGES.map(({ manifest }) => manifest.family));

for (const { name, task } of FAMILIES) {
  test(`${name} has a package that tests load`, () => {
    assert.ok(OWN.has(name) || TINY.has(name), `test/fixtures/adapters has no package of ${name}`);
  });

  test(`docs/models.md names ${name} among the families for ${task}`, () => {
    const rows = tableRows(section(read("docs/models.md"), "## Bring your own weights"));
    const names = codeSpans(rows.find(([first]) => first === task)?.[1] ?? "");
    assert.ok(names.includes(name), `its row for ${task} lists ${names.join(", ")}`);
  });

  if (OWN.has(name)) continue;
  test(`models/README.md lists the contents of a package of ${name}`, () => {
    const rows = tableRows(section(read("models/README.md"), "## Bring your own weights"));
    assert.ok(
      rows.some(([first]) => first === `\`${name}\``),
      `no row of its tables begins with \`${name}\``,
    );
  });
}
