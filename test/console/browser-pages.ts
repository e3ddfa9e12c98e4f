import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import type { Page } from "playwright-core";

/**
 * Screenshots for review, in a git-ignored folder. The full gate takes none, because they would cost a
 * minute.
 */
const SCREENSHOTS = fileURLToPath(new URL("../../../build/console/", import.meta.url));
const HAS_PICTURES = process.env["CONSOLE_PICTURES"] !== undefined;
/** Rules that depend on the layout. The wide layout covers all others. */
const OF_LAYOUT = ["scrollable-region-focusable", "target-size", "button-name", "link-name", "label"];
interface Appearance {
  readonly name: "light" | "dark" | "narrow";
  /** Window size in pixels. */
  readonly width: number;
  readonly height: number;
  readonly scheme: "light" | "dark";
  /** Options for axe. */
  readonly rules: { readonly runOnly?: readonly string[] };
}

const LOOKS: readonly Appearance[] = [
  { name: "light", width: 1_280, height: 860, scheme: "light", rules: {} },
  // Themes differ only in colours, and layouts in everything else, so check each only once.
  { name: "dark", width: 1_280, height: 860, scheme: "dark", rules: { runOnly: ["color-contrast"] } },
  {
    name: "narrow",
    width: 390,
    height: 844,
    scheme: "light",
    rules: { runOnly: OF_LAYOUT },
  },
];

/** Skips the third of the rules that find only moderate and minor faults, which are not reported below. */
const WITHOUT_LESSER_RULES = `axe.configure({
  rules: axe._audit.rules
    .filter(({ impact }) => impact === "moderate" || impact === "minor")
    .map(({ id }) => ({ id, enabled: false })),
})`;

const WITHOUT_COLOURS = { rules: { "color-contrast": { enabled: false } } };

type Look = Appearance["name"];
/** Languages differ in the lengths of texts, not in colours. */
export const OTHER_LANGUAGE: readonly Look[] = ["light", "narrow"];

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** Paths of elements that were already measured, by colour scheme. */
const seenColours = new Map<string, Set<string>>();
/**
 * Returns the paths of all elements with text of their own, which is all that style sheets can distinguish.
 */
const COLOURED = `(() => {
  const contents = /^(href|id|for|lang|name|value|src|title|alt|placeholder|d|aria-label|aria-labelledby|aria-describedby)$/;
  const known = new Map();
  const pathOf = (element) => {
    if (element === null) return "";
    const found = known.get(element);
    if (found !== undefined) return found;
    const own = [...element.attributes].filter(({ name }) => !contents.test(name)).map(({ name, value }) => name + "=" + value);
    const path = [pathOf(element.parentElement), element.localName, ...own.sort(), element.checked === true].join(" ");
    known.set(element, path);
    return path;
  };
  const isText = ({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== "";
  const hasText = (element) => "value" in element || [...element.childNodes].some(isText);
  return [...new Set([...document.body.querySelectorAll("*")].filter(hasText).map(pathOf))];
})()`;

/** Asserts for each appearance that nothing is wider than the window, and that axe finds no serious fault. */
export async function inspect(
  page: Page,
  name: string,
  looks: readonly Look[] = LOOKS.map((look) => look.name),
): Promise<void> {
  if (HAS_PICTURES) mkdirSync(SCREENSHOTS, { recursive: true });
  for (const look of LOOKS.filter((one) => looks.includes(one.name))) {
    const { width, height, scheme, rules } = look;
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height });
    await page.evaluate("scrollTo(0, 0)");
    if (HAS_PICTURES)
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${look.name}.png`), fullPage: true });
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.ok(Number(overflow) <= 0, `${name} ${look.name} is ${overflow} px wider than the window`);
    const isColoured = !rules.runOnly?.some((rule) => rule !== "color-contrast");
    const hasNewColours = isColoured && (await seesNewColours(page, scheme));
    if (look.name === "dark" && !hasNewColours) continue;
    // Evaluated through the debugger, which the pages' policy does not restrict. It stays until a reload.
    if ((await page.evaluate("typeof axe")) === "undefined") {
      await page.evaluate(axe.source);
      await page.evaluate(WITHOUT_LESSER_RULES);
    }
    // `preload: false`, because no rule in use reads style sheets or media.
    const known = hasNewColours || rules.runOnly !== undefined ? {} : WITHOUT_COLOURS;
    const options = JSON.stringify({ resultTypes: ["violations"], preload: false, ...rules, ...known });
    const findings = (await page.evaluate(
      `axe.run(${options}).then(({ violations }) => violations)`,
    )) as Finding[];
    const serious = findings.filter(({ impact }) => impact === "serious" || impact === "critical");
    const found = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
    assert.deepEqual(found, [], `${name} ${look.name}`);
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize({ width: 1_280, height: 860 });
}

/**
 * Returns whether a page may have new text colours in this scheme. Measuring them takes half of axe's time.
 */
async function seesNewColours(page: Page, scheme: string): Promise<boolean> {
  const seen = seenColours.get(scheme) ?? new Set();
  seenColours.set(scheme, seen);
  const found = (await page.evaluate(COLOURED)) as readonly string[];
  const isNew = found.some((path) => !seen.has(path));
  for (const path of found) seen.add(path);
  return isNew;
}

/** Returns elements that a narrow window hides or cuts off. */
export async function outOfSight(page: Page, selector: string): Promise<readonly string[]> {
  await page.setViewportSize({ width: 390, height: 844 });
  const found = await page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll(${JSON.stringify(selector)})];
    if (boxes.length === 0) return ["no such element"];
    return boxes.filter((box) => {
      const { left, right, width } = box.getBoundingClientRect();
      return width === 0 || left < 0 || right > innerWidth;
    }).map((box) => box.outerHTML);
  })()`);
  await page.setViewportSize({ width: 1_280, height: 860 });
  return found as readonly string[];
}

/** Returns whether a text is in a place that remains when a dialog closes. */
export async function isKept(page: Page, text: string): Promise<boolean> {
  const places = (await page.evaluate(`[
    location.href,
    document.documentElement.outerHTML,
    ...[...document.querySelectorAll("input, textarea")].map((field) => field.value),
    JSON.stringify({ ...localStorage }),
    JSON.stringify({ ...sessionStorage }),
    document.cookie,
  ]`)) as string[];
  return places.some((place) => place.includes(text));
}
