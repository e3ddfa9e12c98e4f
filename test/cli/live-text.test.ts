import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveText } from "../../src/cli/live-text.js";
import * as fc from "../support/properties.js";

const final = (display_text: string, display_before = "") => ({
  ...{ text: "x", start: 0, end: 1, display_text, display_before },
});

function piped(show: (text: LiveText) => void): string {
  let written = "";
  show(new LiveText({ write: (part) => (written += part) }));
  return written;
}

/** A terminal with the control sequences that the command uses, and an endless screen. */
class Terminal {
  readonly isTTY = true;
  readonly rows: string[][] = [[]];
  #row = 0;
  #column = 0;

  readonly columns: number;

  constructor(columns: number) {
    this.columns = columns;
  }

  write(text: string): void {
    for (const [token] of text.matchAll(/\p{Cc}\[(\d*)([A-Z])|[\s\S]/gu)) {
      const [, count = "", control] = /^\p{Cc}\[(\d*)([A-Z])$/u.exec(token) ?? [];
      if (control === "A") this.#row -= Number(count || 1);
      else if (control === "C") this.#column = Math.min(this.columns - 1, this.#column + Number(count || 1));
      else if (control === "K") this.#cells.length = Math.min(this.#cells.length, this.#column);
      else if (control !== undefined) assert.fail(`unknown control ${JSON.stringify(token)}`);
      else if (token === "\r") this.#column = 0;
      else if (token === "\n") this.#down();
      else this.#put(token);
    }
  }

  /** Rows as text. Rows that only a partial used are empty again. */
  get text(): string {
    return this.rows
      .map((cells) => cells.join("").trimEnd())
      .join("\n")
      .trimEnd();
  }

  get #cells(): string[] {
    return this.rows[this.#row]!;
  }

  #down(): void {
    this.#row++;
    this.#column = 0;
    while (this.rows.length <= this.#row) this.rows.push([]);
  }

  /** A character after the last column wraps. One in the last column does not wrap yet. */
  #put(character: string): void {
    if (this.#column === this.columns) this.#down();
    while (this.#cells.length < this.#column) this.#cells.push(" ");
    this.#cells[this.#column++] = character;
  }
}

test("a pipe gets one sentence per line, with punctuation once the following words determine it", () => {
  const parts: string[] = [];
  const text = new LiveText({ write: (part) => parts.push(part) });
  const after = (show: () => void) => {
    parts.length = 0;
    show();
    return parts.join("");
  };
  assert.equal(
    after(() => text.final(final("Мен кеше келдім"))),
    "Мен кеше келдім",
  );
  assert.equal(
    after(() => text.partial("сен")),
    "",
    "no partials in a pipe",
  );
  assert.equal(
    after(() => text.final(final("бірақ сен жоқ едің", ", "))),
    ", бірақ сен жоқ едің",
  );
  assert.equal(
    after(() => text.final(final("Қайда болдың", ". "))),
    ".\nҚайда болдың",
  );
  assert.equal(
    after(() => text.final(final(""))),
    "",
    "silence",
  );
  assert.equal(
    after(() => text.final(final("Үйде болдым.", "? "))),
    "?\nҮйде болдым.\n",
  );
  assert.equal(
    after(() => text.final(final("Жақсы", " "))),
    "Жақсы",
  );
  assert.equal(
    after(() => text.end(".")),
    ".\n",
  );
  assert.equal(
    after(() => text.end("")),
    "",
  );
});

test("a failed session ends its open line, and plain finals are one line each", () => {
  assert.equal(
    piped((text) => {
      text.final(final("Мен кеше"));
      text.end("");
    }),
    "Мен кеше\n",
  );
  assert.equal(
    piped((text) => {
      text.final({ text: "мен кеше", start: 0, end: 1 });
      text.final({ text: "", start: 1, end: 2 });
      text.final({ text: "келдім", start: 2, end: 3 });
      text.end("");
    }),
    "мен кеше\nкелдім\n",
  );
});

test("a terminal of any width shows the text of a pipe, and erases every partial", () => {
  const words = fc.stringMatching(/^[а-я]{1,9}(?: [а-я]{1,9}){0,5}$/);
  const step = fc.oneof(
    fc.record({ partial: words }),
    fc.record({ final: words, before: fc.constantFrom(" ", ", ", ". ", "? ", " — ") }),
    fc.record({ final: words.map((text) => `${text}.`), before: fc.constantFrom(" ", ". ") }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 26, max: 90 }), (steps, columns) => {
      const terminal = new Terminal(columns);
      const shown = new LiveText(terminal);
      const expected = piped((text) => {
        for (const one of steps) {
          for (const target of [shown, text]) {
            if ("partial" in one) target.partial(one.partial);
            else target.final(final(one.final, one.before));
          }
        }
        for (const target of [shown, text]) target.end(".");
      });
      const rows = expected
        .trimEnd()
        .split("\n")
        .flatMap((line) => line.match(new RegExp(`.{1,${columns}}`, "gu")) ?? [""]);
      assert.equal(terminal.text, rows.map((row) => row.trimEnd()).join("\n"));
    }),
    { numRuns: 500 },
  );
});

test("a terminal shows the end of a partial after the open line, or below it", () => {
  const terminal = new Terminal(40);
  const text = new LiveText(terminal);
  text.final(final("Мен кеше келдім"));
  text.partial("сен кеше қайда болдың екен");
  assert.equal(terminal.text, "Мен кеше келдім  кеше қайда болдың екен");
  text.final(final("сен жоқ едің", ", "));
  text.partial("қайда болдың");
  assert.equal(terminal.text, "Мен кеше келдім, сен жоқ едің\nқайда болдың");
  text.above(() => terminal.write("reconnecting\n"));
  text.final(final("Қайда болдың", ". "));
  assert.equal(terminal.text, "Мен кеше келдім, сен жоқ едің\nreconnecting\n.\nҚайда болдың");
});
