import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const PAGES = "docs/paths";
const LONGEST_PAGE = 40;

/** All files of the program. A page may omit folders that it has just mentioned. */
const files = ["src", "actors", "native", "core"].flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: "utf8" }).map((path) => `/${room}/${path}`),
);

for (const page of readdirSync(PAGES)) {
  test(`${page} lists existing files in at most ${LONGEST_PAGE} lines`, () => {
    const text = readFileSync(join(PAGES, page), "utf8");
    assert.ok(text.trimEnd().split("\n").length <= LONGEST_PAGE);
    const named = [...text.matchAll(/`([\w./-]+(?:\.tsx?|\/))`/g)].map(([, name = ""]) => name);
    assert.ok(named.length > 10, "the page lists the files");
    for (const name of named) {
      const isThere = name.endsWith("/") ? existsSync(name) : files.some((file) => file.endsWith(`/${name}`));
      assert.ok(isThere, name);
    }
  });
}
