import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import { tableRows } from "./fixtures.js";

interface ReadingRow {
  readonly written: string;
  readonly spoken: string;
  readonly kind: string;
  readonly confidence: string;
  readonly source: string;
}

const SOURCES = new Map(tableRows("readings-sources.tsv").map(([number, source]) => [number, source]));
const ROWS: readonly ReadingRow[] = tableRows("readings-kk.tsv.br").map(
  ([written = "", spoken = "", kind = "", confidence = "", source = ""]) => ({
    written,
    spoken,
    kind,
    confidence,
    source: SOURCES.get(source) ?? "",
  }),
);

test("the table has at least 400 unique readings with sources", () => {
  assert.ok(ROWS.length >= 400, `${ROWS.length} rows`);
  assert.equal(new Set(ROWS.map(({ written }) => written)).size, ROWS.length);
  for (const row of ROWS) {
    assert.match(row.confidence, /^(?:high|medium)$/, row.written);
    assert.ok(row.source.length > 10 && row.kind !== "" && row.spoken !== "", row.written);
  }
});

for (const kind of new Set(ROWS.map((row) => row.kind))) {
  test(`every ${kind} of the table is read as listed`, () => {
    for (const { written, spoken } of ROWS.filter((row) => row.kind === kind)) {
      assert.equal(normalizeKazakh(written, { expand: true }).spoken, spoken, written);
    }
  });
}
