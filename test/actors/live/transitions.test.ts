import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { TRANSITIONS, type TransitionTable } from "../../../actors/live/decision.js";
import { EVENT_NUMBERS, STATE_NUMBERS } from "../../../actors/live/state.js";
import { ignore } from "../../../actors/live/transitions.js";
import { ROOT, read, section } from "../../docs/markdown.js";
import { temporaryFolder } from "../../support/folders.js";

const FOLDER = "actors/live";
const PAGE = read(`${FOLDER}/STATES.md`);
const TABLE = read(`${FOLDER}/decision.ts`);
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

/** Returns the cells of each row in the table below a heading, without the title row and code marks. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const rows = section(PAGE, heading)
    .split("\n")
    .filter((line) => line.startsWith("|"));
  const cells = rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return cells.slice(2).map((row) => row.map((cell) => cell.replace(/^`(.*)`$/, "$1")));
}

test("STATES.md lists the states, events and transitions of the code", () => {
  const numbersOf = (heading: string) =>
    Object.fromEntries(rowsBelow(heading).map(([number, name]) => [name, number]));
  assert.deepEqual(numbersOf("## States"), { ...STATE_NUMBERS });
  assert.deepEqual(numbersOf("## Events"), { ...EVENT_NUMBERS });
  const states = Object.keys(STATE_NUMBERS) as (keyof typeof STATE_NUMBERS)[];
  const events = Object.keys(EVENT_NUMBERS) as (keyof typeof EVENT_NUMBERS)[];
  const row = (event: (typeof events)[number]) => {
    const cells: TransitionTable[typeof event] = TRANSITIONS[event];
    return states.map((state) => (cells[state] === ignore ? "–" : cells[state].name));
  };
  assert.deepEqual(
    rowsBelow("## Transitions"),
    events.map((event) => [EVENT_NUMBERS[event], ...row(event)]),
  );
});

test("each invariant of STATES.md is cited in the code and has a test of that name", () => {
  const invariants = rowsBelow("## Invariants");
  const expected = invariants.map((_, index) => `I${index + 1}`);
  assert.deepEqual(
    invariants.map(([number]) => number),
    expected,
  );
  const sources = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith(".ts"));
  const code = sources.map((name) => read(`${FOLDER}/${name}`)).join("");
  const cited = new Set([...code.matchAll(/\((I\d+)\)/g)].map(([, number]) => number));
  assert.deepEqual([...cited].sort(byNumber), expected);
  for (const [number, , file, name] of invariants) {
    const tests = readFileSync(join(ROOT, "test/actors/live", file!), "utf8");
    assert.ok(tests.includes(`test("${name}", `), `${number}: ${file} has no test "${name}"`);
  }
});

test("a table without any one of its cells does not compile", async () => {
  const [head = "", rest = ""] = TABLE.split("export const TRANSITIONS = {");
  const [rows = "", tail = ""] = rest.split("} as const satisfies TransitionTable;");
  const cells = [...rows.matchAll(/\b(?:listening|draining|settling|stopped): \w+,?/g)];
  const count = Object.keys(EVENT_NUMBERS).length * Object.keys(STATE_NUMBERS).length;
  assert.equal(cells.length, count);
  const without = ({ index, 0: cell }: RegExpExecArray) =>
    rows.slice(0, index) + rows.slice(index + cell.length);
  const variants = new Map([
    ["whole", rows],
    ...cells.map((cell, at) => [`cell-${at}`, without(cell)] as const),
  ]);
  const folder = join(await temporaryFolder(), "tables");
  await mkdir(folder);
  for (const [name, text] of variants) {
    const source = `${head}export const TRANSITIONS = {${text}} as const satisfies TransitionTable;${tail}`;
    await writeFile(join(folder, `${name}.ts`), withAbsoluteImports(source));
  }
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(CONFIGURATION));
  const failed = await promisify(execFile)(process.execPath, [TSC, "-p", folder], { cwd: folder }).then(
    () => assert.fail("all tables compile"),
    ({ stdout }: { readonly stdout: string }) => stdout,
  );
  const faulty = new Set(
    [...failed.matchAll(/^([\w-]+)\.ts\(\d+,\d+\): error TS2741:/gm)].map(([, name]) => name),
  );
  assert.deepEqual(
    [...faulty].sort(),
    [...variants.keys()].filter((name) => name !== "whole").sort(),
    failed,
  );
});

const CONFIGURATION = {
  extends: join(ROOT, "tsconfig.json"),
  compilerOptions: {
    noEmit: true,
    emitDeclarationOnly: false,
    declaration: false,
    incremental: false,
    // Otherwise a name that only the missing cell used would fail too.
    noUnusedLocals: false,
    rootDir: "/",
    typeRoots: [join(ROOT, "node_modules/@types")],
  },
  include: ["*.ts"],
  exclude: [],
};

/** Makes imports absolute, because the copies are in another folder. */
function withAbsoluteImports(source: string): string {
  return source
    .replaceAll('from "./', `from "${join(ROOT, FOLDER)}/`)
    .replaceAll('from "../../', `from "${ROOT}`);
}

function byNumber(one: string | undefined, other: string | undefined): number {
  return Number(one?.slice(1)) - Number(other?.slice(1));
}
