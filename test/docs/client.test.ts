import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { type Class, type Declaration, parseSync } from "oxc-parser";
import { codeSpans, read, section, tableRows } from "./markdown.js";

const PAGE = read("docs/client.md");
/** Entry points of `dauys/client` and `dauys/player`. */
const ENTRIES = ["src/client/node.ts", "src/client/browser.ts", "src/player/sentence-player.ts"];

const CLIENT = { heading: "## The client", prefix: "" };
const ERRORS = { heading: "## Errors and retries", prefix: "" };
/** Section that documents the members of each class, and what it writes before their names. */
const DOCUMENTED: Readonly<Record<string, { readonly heading: string; readonly prefix: string }>> = {
  DauysClient: CLIENT,
  ServiceClient: CLIENT,
  Jobs: { ...CLIENT, prefix: "jobs." },
  Vocabulary: { ...CLIENT, prefix: "vocabulary." },
  LiveTranscription: { heading: "## Live", prefix: "" },
  LiveSpeech: { heading: "## Live speech", prefix: "" },
  SentencePlayer: { heading: "## The player", prefix: "" },
  DauysError: ERRORS,
  ApiError: ERRORS,
  ConnectionError: ERRORS,
  RequestTimeoutError: ERRORS,
  LiveError: ERRORS,
};

const DECLARED = declarations();
const EXPORTED = new Set(ENTRIES.flatMap(exportedNames));
const CLASSES = publicClasses();

for (const [name, members] of CLASSES) {
  test(`docs/client.md names every public member of ${name}`, () => {
    const place = DOCUMENTED[name];
    assert.ok(place !== undefined, `choose the section that documents ${name}`);
    const spans = codeSpans(section(PAGE, place.heading));
    const isShown = (member: string) => {
      const start = `${place.prefix}${member}`;
      return spans.some((span) => span.startsWith(start) && !/^\w/.test(span.slice(start.length)));
    };
    assert.deepEqual(without(members, isShown), [], `missing from "${place.heading}"`);
  });
}

test("docs/client.md names every exported function", () => {
  const functions = [...EXPORTED].filter((name) => DECLARED.get(name)?.type === "FunctionDeclaration");
  assert.ok(functions.length > 0, "there are functions");
  const spans = codeSpans(PAGE);
  const isShown = (name: string) => spans.some((span) => span.startsWith(`${name}(`));
  assert.deepEqual(without(functions, isShown), []);
});

test("docs/client.md names every option", () => {
  const options = [...DECLARED].flatMap(([name, declared]) => {
    if (declared.type !== "TSInterfaceDeclaration" || !name.endsWith("Options")) return [];
    return declared.body.body.flatMap((member) =>
      member.type === "TSPropertySignature" && member.key.type === "Identifier" ? [member.key.name] : [],
    );
  });
  assert.ok(options.length > 0, "there are options");
  const words = new Set(codeSpans(PAGE).flatMap((span) => span.match(/\w+/g) ?? []));
  assert.deepEqual(
    without(options, (option) => words.has(option)),
    [],
  );
});

test("docs/client.md names no method that does not exist", () => {
  for (const heading of new Set(Object.values(DOCUMENTED).map((place) => place.heading))) {
    const known = [...CLASSES].flatMap(([name, members]) => {
      const place = DOCUMENTED[name];
      return place?.heading === heading ? members.map((member) => `${place.prefix}${member}`) : [];
    });
    for (const [cell = ""] of tableRows(section(PAGE, heading))) {
      for (const [, method = ""] of cell.matchAll(/`([\w.]+)\(/g)) assert.ok(known.includes(method), method);
    }
  }
});

/** Returns the names that the page does not show. */
function without(names: readonly string[], isShown: (name: string) => boolean): readonly string[] {
  return names.filter((name) => !isShown(name));
}

/** Returns the exported declarations of both libraries, by name. */
function declarations(): ReadonlyMap<string, Declaration> {
  const found = new Map<string, Declaration>();
  for (const folder of ["src/client", "src/player"]) {
    for (const name of readdirSync(folder).filter((file) => file.endsWith(".ts"))) {
      const path = posix.join(folder, name);
      for (const statement of parseSync(path, read(path)).program.body) {
        const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : null;
        if (declared === null || !("id" in declared) || declared.id?.type !== "Identifier") continue;
        // Both entries have a `DauysClient`; Node's, which comes later, has all members of the other.
        found.set(declared.id.name, declared);
      }
    }
  }
  return found;
}

/** Returns the names that a module exports, directly or from other modules. */
function exportedNames(path: string): readonly string[] {
  const { staticExports } = parseSync(path, read(path)).module;
  return staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ exportName, moduleRequest }) => {
      if (exportName.name !== null) return [exportName.name];
      return exportedNames(posix.join(posix.dirname(path), moduleRequest!.value.replace(/\.js$/, ".ts")));
    }),
  );
}

/** Returns the public members of every exported class, and of the classes that these extend. */
function publicClasses(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const add = (name: string) => {
    const declared = DECLARED.get(name);
    if (declared?.type !== "ClassDeclaration") return;
    found.set(name, membersOf(declared));
    if (declared.superClass?.type === "Identifier") add(declared.superClass.name);
  };
  for (const name of EXPORTED) add(name);
  return found;
}

/** Returns the names of a class's public members that it does not override. */
function membersOf({ body }: Class): readonly string[] {
  return body.body.flatMap((member) => {
    if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") return [];
    const { key, computed, override, accessibility } = member;
    if (computed || override === true || key.type !== "Identifier" || key.name === "constructor") return [];
    return accessibility === "protected" || accessibility === "private" ? [] : [key.name];
  });
}
