import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { readConfig } from "../../src/settings/settings.js";
import { codeSpans, ROOT, read, tableRows } from "./markdown.js";

/** Returns the names that the service reads from its environment, whether listed or not. */
function namesRead(): ReadonlySet<string> {
  const names = new Set<string>();
  const note = (name: string | symbol) => {
    if (typeof name === "string" && /^[A-Z][A-Z_]+$/.test(name)) names.add(name);
  };
  const environment = new Proxy<Record<string, string | undefined>>(
    {},
    {
      get: (_, name) => {
        note(name);
        return undefined;
      },
      has: (_, name) => {
        note(name);
        return false;
      },
    },
  );
  readConfig(environment);
  return names;
}

test("docs/settings.md lists exactly the settings that the service reads, each once", () => {
  const rows = tableRows(read("docs/settings.md"));
  const shown = rows.map(([name = ""]) => codeSpans(name)[0]!);
  assert.deepEqual(shown.toSorted(), [...namesRead()].sort(), "the table is made by: npm run docs");
});

test("the output of `npm run docs` is up to date: defaults and meanings match the code", () => {
  const check = [process.execPath, ["scripts/docs.mjs", "--check"], { cwd: ROOT, encoding: "utf8" }] as const;
  const { status, stdout, stderr } = spawnSync(...check);
  assert.ok(status === 0, `${stdout}${stderr}`);
});
