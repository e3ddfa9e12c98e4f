import { type AST, parseRegExpLiteral } from "@eslint-community/regexpp";

/** Tries to continue the match from a place in the text. */
type Next = (at: number) => boolean;
type Matcher = (at: number, next: Next) => boolean;
/** The direction of a match: forwards, or backwards as inside `(?<=`. */
type Direction = 1 | -1;

/** Contains, for the number of each character of the text, 1 if the character matches, else 0. */
type Fits = Uint8Array;

/** The number of the place before and after every text. It matches nothing. */
const OUTSIDE = 0;
/** More than the number of different characters in all texts of a pattern. */
const MOST_CHARACTERS = 4_096;
const YES = 1;

/** Thrown when a search exceeds its limit. */
export class TooManySteps extends Error {}

/**
 * Runs a pattern step by step, like a backtracking engine. A step is one character examined or one choice
 * made. Node's engine is optimized further, but its order of growth is the same.
 */
export class StepCounter {
  readonly ast: AST.RegExpLiteral;
  readonly #isUnicode: boolean;
  readonly #flags: string;
  readonly #match: Matcher;
  readonly #captures: (readonly [number, number] | undefined)[] = [];
  readonly #known = new Map<string, Fits>();
  /** Every table, with the single-character pattern that fills it. */
  readonly #tables: { readonly pattern: RegExp; readonly fits: Fits }[] = [];
  /** Each character seen has a number, so that matches can be looked up in tables. */
  readonly #numbersOfCharacters = new Map<string, number>();
  readonly #characters = [""];
  /** The character at a place is stored one position later, because `OUTSIDE` is both first and last. */
  #text = new Uint16Array(2);
  #length = 0;
  #steps = 0;
  #limit = 0;

  constructor(source: string, flags: string) {
    // Without the constructor, an empty pattern would be read as a comment.
    this.ast = parseRegExpLiteral(new RegExp(source, flags));
    this.#isUnicode = /[uv]/.test(flags);
    this.#flags = flags.replace(/[gyd]/g, "");
    this.#match = this.#alternatives(this.ast.pattern.alternatives, 1);
  }

  /**
   * Counts the steps for finding every match in a text, each search starting where the last match ended. A
   * sticky pattern is tried at every place, as the normalizer's rules are.
   *
   * @throws {TooManySteps} beyond `limit`
   */
  count(text: string, limit: number): number {
    const characters = this.#isUnicode ? [...text] : text.split("");
    this.#text = new Uint16Array(characters.length + 2);
    for (const [at, character] of characters.entries())
      this.#text[at + 1] = this.#numberOfCharacter(character);
    this.#length = characters.length;
    this.#steps = 0;
    this.#limit = limit;
    let end = 0;
    const isAnEnd = (found: number) => {
      end = found;
      return true;
    };
    for (let at = 0; at <= this.#length; ) {
      if (this.#captures.length > 0) this.#captures.length = 0;
      at = this.#match(at, isAnEnd) && end > at ? end : at + 1;
    }
    return this.#steps;
  }

  #step(): void {
    if (++this.#steps > this.#limit) throw new TooManySteps(`more than ${this.#limit} steps`);
  }

  #alternatives(alternatives: readonly AST.Alternative[], direction: Direction): Matcher {
    const matchers = alternatives.map(({ elements }) => this.#sequence(elements, direction));
    const [only] = matchers;
    if (matchers.length === 1 && only !== undefined) return only;
    return (at, next) => {
      for (const matcher of matchers) {
        this.#step();
        if (matcher(at, next)) return true;
      }
      return false;
    };
  }

  #sequence(elements: readonly AST.Element[], direction: Direction): Matcher {
    const ordered = direction === 1 ? elements : elements.toReversed();
    const matchers: Matcher[] = [];
    for (let nth = 0; nth < ordered.length; ) {
      const run = ordered.slice(nth).findIndex((element) => !isOneCharacter(element));
      const count = run === -1 ? ordered.length - nth : run;
      if (count > 0) matchers.push(this.#characterRun(ordered.slice(nth, nth + count), direction));
      else matchers.push(this.#element(ordered[nth]!, direction));
      nth += Math.max(count, 1);
    }
    const last = matchers.pop();
    if (last === undefined) return (at, next) => next(at);
    return matchers.reduceRight<Matcher>(
      (rest, first) => (at, next) => first(at, (end) => rest(end, next)),
      last,
    );
  }

  /** Matches several nodes of one character each, without a call for each of them. */
  #characterRun(elements: readonly AST.Element[], direction: Direction): Matcher {
    const all = elements.map((element) => this.#fitsOf(element));
    const count = all.length;
    const offset = direction === 1 ? 1 : 0;
    return (at, next) => {
      const text = this.#text;
      let place = at;
      for (let nth = 0; nth < count; nth++) {
        this.#step();
        if (all[nth]![text[place + offset]!] !== YES) return false;
        place += direction;
      }
      return next(place);
    };
  }

  #element(element: AST.Element, direction: Direction): Matcher {
    switch (element.type) {
      case "Group":
        return this.#alternatives(element.alternatives, direction);
      case "CapturingGroup":
        return this.#capturing(element, direction);
      case "Quantifier":
        return this.#quantifier(element, direction);
      case "Assertion":
        return this.#assertion(element);
      case "Backreference":
        return this.#backreference(element, direction);
      default:
        return this.#characterRun([element], direction);
    }
  }

  /** Tests one character against a single-character node. */
  fits(node: AST.Node, character: string): boolean {
    return this.#fitsOf(node)[this.#numberOfCharacter(character)] === YES;
  }

  #numberOfCharacter(character: string): number {
    if (character === "") return OUTSIDE;
    const known = this.#numbersOfCharacters.get(character);
    if (known !== undefined) return known;
    const number = this.#characters.push(character) - 1;
    if (number >= MOST_CHARACTERS) throw new Error(`more than ${MOST_CHARACTERS} characters`);
    this.#numbersOfCharacters.set(character, number);
    for (const { pattern, fits } of this.#tables) fits[number] = pattern.test(character) ? YES : 0;
    return number;
  }

  #fitsOf({ raw }: AST.Node): Fits {
    const known =
      this.#known.get(raw) ?? this.#tableOf(new RegExp(`^(?:${raw})$`, this.#flags.replace("m", "")));
    this.#known.set(raw, known);
    return known;
  }

  /** Tests each character against the pattern once, when it is first seen. */
  #tableOf(pattern: RegExp): Fits {
    const fits = new Uint8Array(MOST_CHARACTERS);
    for (const [number, character] of this.#characters.entries())
      if (number !== OUTSIDE && pattern.test(character)) fits[number] = YES;
    this.#tables.push({ pattern, fits });
    return fits;
  }

  #capturing(group: AST.CapturingGroup, direction: Direction): Matcher {
    const inside = this.#alternatives(group.alternatives, direction);
    const number = this.#numberOf(group);
    return (at, next) => {
      const before = this.#captures[number];
      const isFound = inside(at, (end) => {
        this.#captures[number] = [Math.min(at, end), Math.max(at, end)];
        return next(end);
      });
      if (!isFound) this.#captures[number] = before;
      return isFound;
    };
  }

  readonly #numbers = new Map<AST.CapturingGroup, number>();
  #numberOf(group: AST.CapturingGroup): number {
    const number = this.#numbers.get(group) ?? this.#numbers.size;
    this.#numbers.set(group, number);
    return number;
  }

  #backreference(node: AST.Backreference, direction: Direction): Matcher {
    const group = [node.resolved].flat()[0];
    const number = group === undefined ? -1 : this.#numberOf(group);
    return (at, next) => {
      const [start, end] = this.#captures[number] ?? [0, 0];
      const captured = this.#text.slice(start + 1, end + 1);
      for (let i = 0; i <= captured.length; i++) this.#step();
      const from = direction === 1 ? at : at - captured.length;
      const isSame = captured.every((character, i) => this.#text[from + i + 1] === character);
      return isSame && next(at + direction * captured.length);
    };
  }

  #quantifier({ min, max, greedy, element }: AST.Quantifier, direction: Direction): Matcher {
    if (isOneCharacter(element)) return this.#repeated(element, { min, max, greedy }, direction);
    const inside = this.#element(element, direction);
    const more = (at: number, count: number, next: Next): boolean => {
      this.#step();
      const again = () =>
        count < max && inside(at, (end) => (end !== at || count < min) && more(end, count + 1, next));
      if (count < min) return again();
      return greedy ? again() || next(at) : next(at) || again();
    };
    return (at, next) => more(at, 0, next);
  }

  /** Repeats a single-character node, without a call for each repetition. */
  #repeated(
    element: AST.Element,
    { min, max, greedy }: Pick<AST.Quantifier, "min" | "max" | "greedy">,
    direction: Direction,
  ): Matcher {
    const fits = this.#fitsOf(element);
    const offset = direction === 1 ? 1 : 0;
    const takes = (at: number, count: number) => {
      this.#step();
      return count < max && fits[this.#text[at + direction * count + offset]!] === YES;
    };
    return (at, next) => {
      let count = 0;
      for (; count < min; count++) if (!takes(at, count)) return false;
      if (!greedy) {
        for (; ; count++) {
          if (next(at + direction * count)) return true;
          if (!takes(at, count)) return false;
        }
      }
      while (takes(at, count)) count++;
      for (; count >= min; count--) {
        this.#step();
        if (next(at + direction * count)) return true;
      }
      return false;
    };
  }

  #assertion(assertion: AST.Assertion): Matcher {
    if (assertion.kind === "lookahead" || assertion.kind === "lookbehind") {
      const inside = this.#alternatives(assertion.alternatives, assertion.kind === "lookahead" ? 1 : -1);
      return (at, next) => inside(at, () => true) !== assertion.negate && next(at);
    }
    const isMultiline = this.#flags.includes("m");
    const endsLine = this.#tableOf(/^[\n\r\u2028\u2029]$/);
    const isOfWord = this.#tableOf(/^\w$/);
    const isLineEnd = (index: number) => isMultiline && endsLine[this.#text[index + 1]!] === YES;
    const isWord = (index: number) => isOfWord[this.#text[index + 1]!] === YES;
    return (at, next) => {
      this.#step();
      if (assertion.kind === "start") return (at === 0 || isLineEnd(at - 1)) && next(at);
      if (assertion.kind === "end") return (at === this.#length || isLineEnd(at)) && next(at);
      const isEdge = isWord(at - 1) !== isWord(at);
      return (assertion.kind === "word" && assertion.negate ? !isEdge : isEdge) && next(at);
    };
  }
}

export function isOneCharacter(element: AST.Element): boolean {
  return ["Character", "CharacterClass", "CharacterSet", "ExpressionCharacterClass"].includes(element.type);
}
