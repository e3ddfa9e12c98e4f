import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../src/settings/settings.js";
import { read, repositoryFiles } from "../docs/markdown.js";

const SOURCES = repositoryFiles()
  .filter((path) => /^src\/(?!settings\/).*\.ts$/.test(path))
  .map(read);

for (const member of Object.keys(readConfig({}))) {
  test(`a part of the service receives config.${member}`, () => {
    // The part receives it as a member, or destructured.
    const isGiven = new RegExp(
      `\\bconfig\\.${member}\\b|\\{[^{}]*\\b${member}\\b[^{}]*\\}(: Config| = (\\w+\\.)*config)\\b`,
    );
    assert.ok(
      SOURCES.some((source) => isGiven.test(source)),
      "no file of src reads it: src/service hands settings to the parts",
    );
  });
}
