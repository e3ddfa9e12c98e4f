import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type FoundPattern, loadedPatterns, writtenPatterns } from "./find-patterns.js";
import { type HostileInput, hostileInputs, textOf } from "./hostile-inputs.js";
import { StepCounter, TooManySteps } from "./step-counter.js";

/**
 * The lengths of the texts that patterns are tried with. The second is used only if the first took many
 * steps.
 */
const SHORT = 300;
const LONG = 900;
/**
 * A pattern of long bounded repetitions needs hundreds of times as many steps. Above this number, only every
 * eighth text is tried.
 */
const MANY_STEPS_OF_PATTERN = 20_000_000;
const EVERY = 8;
/**
 * The maximum number of steps per character. A bounded repetition may be tried from each place up to its
 * bound.
 */
const MOST_STEPS_OF_CHARACTER = 2_000;
/** Quadratic work would take hundreds of steps, far more than this. */
const FEW_STEPS_OF_CHARACTER = 40;
/** A text of three times the length may take this many times the steps per character. */
const MOST_GROWTH = 1.5;

/** Describes why a pattern is slow, or returns null if it is not. */
function slownessOf({ source, flags }: Pick<FoundPattern, "source" | "flags">): string | null {
  const counter = new StepCounter(source, flags);
  let steps = 0;
  const stepsOfCharacter = (text: string) => {
    const taken = counter.count(text, text.length * MOST_STEPS_OF_CHARACTER);
    steps += taken;
    return taken / text.length;
  };
  const stepsOfLong = (input: HostileInput) => {
    try {
      return stepsOfCharacter(textOf(input, LONG));
    } catch (error) {
      // Repeated groups recurse. If the stack overflows, use the short text.
      if (error instanceof RangeError) return stepsOfCharacter(textOf(input, SHORT));
      throw error;
    }
  };
  for (const [nth, input] of hostileInputs(counter).entries()) {
    if (steps > MANY_STEPS_OF_PATTERN && nth % EVERY > 0) continue;
    try {
      const few = stepsOfCharacter(textOf(input, SHORT));
      if (few <= FEW_STEPS_OF_CHARACTER) continue;
      const many = stepsOfLong(input);
      if (many > MOST_GROWTH * few) return `${JSON.stringify(input)}: ${few} to ${many} steps a character`;
    } catch (error) {
      if (error instanceof TooManySteps) return `${JSON.stringify(input)}: ${error.message}`;
      throw error;
    }
  }
  return null;
}

describe("the search for slow patterns", () => {
  for (const pattern of [
    /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
    /\s+$/,
    /^ +| +$/g,
    /(a+)+b/,
    /(?:a|a)*b/,
    /^(?:\w+\s?)*$/,
    /\d+(?:\.\d+){2,}(?!\d)/y,
    /x*y*x*$/,
    /(?<=a.*)b/,
    /a(?=.*b)/g,
    /a(?:.*b)?/g,
    /"(?:\\.|[^\\])*x/,
    /(\w+) \1$/,
    { source: "[\\p{L}--[а-я]]+ь", flags: "v" },
    /^(([a-z])+.)+[A-Z]([a-z])+$/,
  ]) {
    test(`finds /${pattern.source}/${pattern.flags}`, () => assert.notEqual(slownessOf(pattern), null));
  }
  for (const pattern of [
    /^[a-z]{43}$/,
    /\s+/g,
    /(?<!\s)\s+$/,
    /^[^@]*@/,
    /"[^"]*"/,
    /^(?:ab|cd)*$/,
    /[A-Z]{2,60}(?!\d)/y,
    /^\s*$/,
  ]) {
    test(`accepts ${pattern}`, () => assert.equal(slownessOf(pattern), null));
  }

  test("the step counter finds the same matches as the engine", () => {
    const counter = new StepCounter("(?<=[сс])(а|б)+?\\1{0,2}(?!в)$", "u");
    assert.ok(counter.count("саабб", 10_000) < 200);
  });
});

// A quadratic pattern, run before any limit, once blocked the service for 11 to 18 s.
describe("patterns of the project take time linear in their input", async () => {
  const { written, made } = writtenPatterns();
  const files = [...new Set(made.map(({ file }) => file))];
  const { patterns: loaded, places } = await loadedPatterns(files);

  test("finds every pattern", () => {
    assert.ok(written.length > 150, `${written.length} patterns were found`);
    for (const file of files) {
      const expected = made.filter((place) => place.file === file).map(({ line }) => line);
      const seen = places.get(file.replace(/\.\w+$/, ""))?.size ?? 0;
      assert.equal(
        seen,
        expected.length,
        `${file} makes patterns of strings in lines ${expected}: only those that are made when the file is loaded are tested`,
      );
    }
  });

  const all = new Map([...written, ...loaded].map((found) => [`/${found.source}/${found.flags}`, found]));
  for (const [name, found] of all) {
    test(`${found.where} ${name.length > 80 ? `${name.slice(0, 80)}…` : name}`, () => {
      assert.equal(slownessOf(found), null);
    });
  }
});
