import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { compared } from "../../../src/cli/bench/compare.js";
import { Histogram } from "../../../src/cli/bench/histogram.js";
import { NO_OUTCOME, type Outcome, summarized } from "../../../src/cli/bench/outcome.js";
import { resultPage } from "../../../src/cli/bench/page.js";
import { type BenchResult, type LevelResult, parseResult } from "../../../src/cli/bench/result.js";
import { launchChromium } from "../../support/chromium.js";

const FOLDER = "build/bench-pages";
const WIDTHS = [1_280, 390, 320];
let browser: Browser;
let page: string;

before(async () => {
  const [older, newer] = [resultOf(1), resultOf(1.2)];
  page = resultPage(newer, older, compared(older, newer));
  await mkdir(FOLDER, { recursive: true });
  await writeFile(`${FOLDER}/result.html`, page);
  browser = await launchChromium();
});
after(async () => {
  await browser?.close();
});

for (const width of WIDTHS) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`a result fits ${width} px, ${colorScheme}, and no text is cut`, async () => {
      const opened = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      const requests: string[] = [];
      opened.on("request", (request) => requests.push(request.url()));
      await opened.goto(`file://${process.cwd()}/${FOLDER}/result.html`);
      await opened.screenshot({ path: `${FOLDER}/${width}-${colorScheme}.png`, fullPage: true });
      // A string, because the browser runs it and its types are not Node's.
      const seen = (await opened.evaluate(`({
        overflow: document.documentElement.scrollWidth - innerWidth,
        cut: [...document.querySelectorAll("svg text")].filter((text) => {
          const { x, width } = text.getBBox();
          return x < 0 || x + width > text.ownerSVGElement.viewBox.baseVal.width;
        }).map((text) => text.textContent),
        plots: document.querySelectorAll("figure svg").length,
        back: getComputedStyle(document.body).backgroundColor,
      })`)) as { overflow: number; cut: string[]; plots: number; back: string };
      assert.deepEqual([seen.overflow, seen.cut], [0, []]);
      assert.equal(seen.plots, 7);
      assert.equal(seen.back, colorScheme === "dark" ? "rgb(22, 24, 28)" : "rgb(255, 255, 255)");
      assert.equal(requests.length, 1, `the page loads ${requests.slice(1)}`);
      await opened.close();
    });
  }
}

test("a result prints on white paper", async () => {
  const opened = await browser.newPage({ colorScheme: "dark" });
  await opened.emulateMedia({ media: "print" });
  await opened.goto(`file://${process.cwd()}/${FOLDER}/result.html`);
  assert.equal(
    await opened.evaluate("getComputedStyle(document.body).backgroundColor"),
    "rgb(255, 255, 255)",
  );
  assert.ok((await opened.pdf()).length > 10_000);
  await opened.close();
});

test("names from a service cannot put markup into the page", () => {
  const hostile = { ...resultOf(1), parameters: { model: '<script>alert("x")</script>' } };
  assert.doesNotMatch(resultPage(hostile, null, []), /<script/);
});

test("a result without levels says that nothing was measured", () => {
  const empty = { ...resultOf(1), levels: [], knee: null, end: "interrupted" as const };
  assert.match(resultPage(empty, null, []), /Nothing was measured/);
});

/** A ramp of three levels whose delays grow with the load and with `factor`. */
function resultOf(factor: number): BenchResult {
  const levels = [8, 64, 128].map((load) => levelOf(load, 210 * factor * (1 + load / 200)));
  return parseResult(
    JSON.stringify({
      ...{ format: "dauys-bench-1", date: "2026-01-01T10:00:00.000Z", url: "https://speech.example.test" },
      ...{ scenario: "live", wire: "dauys", parameters: { load: 128, model: null } },
      clips: [{ name: "kk-lake.wav", seconds: 2.9, licence: "Apache-2.0" }],
      ...{ machine: { cpu: "Example CPU", cores: 2 }, node: "v20.19.0", end: "complete" },
      ...{ credits_estimated: 10, credits: 10, levels },
      knee: { rule: "p95 is 900 ms, more than twice the 210 ms of the lowest load", below: 64, above: 128 },
    }),
    "made here",
  );
}

function levelOf(load: number, ms: number): LevelResult {
  const outcomes = Array.from({ length: load }, (_, nth): Outcome => {
    const finals = Array.from({ length: 5 }, (_, k) => ms + ((nth * 7 + k * 13) % 40));
    const small = finals.map((value) => value / 20);
    return {
      ...NO_OUTCOME,
      values: { final: finals, first_partial: finals, partial_lag: small, ready: [small[0]!] },
      timed: finals.map((value, k) => ({ second: 4 * k + 2, value })),
      words: [{ edits: nth % 3, length: 8 }],
      sentences: 5,
      failure: nth === 0 ? "closed early with 1013" : null,
    };
  });
  return summarized(outcomes, {
    load,
    seconds: 22,
    own_cpu_percent: 3,
    lateness: new Histogram().addAll([0.4]),
  });
}
