import { type AST, parseRegExpLiteral } from "@eslint-community/regexpp";

/** Tries to go on from a place in the text. */
type Next = (at: number) => boolean;
type Matcher = (at: number, next: Next) => boolean;
/** Forwards, or backwards as behind `(?<=`. */
type Direction = 1 | -1;

type Fits = (character: string | undefined) => boolean;

/** Thrown once a search takes more than it may. */
export class TooManySteps extends Error {}

/**
 * A pattern as a backtracking engine runs it, step by step: a step is one character looked at, or one choice made. What
 * the engine of Node optimizes on top of this makes it faster, not of another order.
 */
export class StepCounter {
  readonly ast: AST.RegExpLiteral;
  readonly #isUnicode: boolean;
  readonly #flags: string;
  readonly #match: Matcher;
  readonly #captures: (readonly [number, number] | undefined)[] = [];
  readonly #known = new Map<string, Fits>();
  #text: readonly string[] = [];
  #steps = 0;
  #limit = 0;

  constructor(source: string, flags: string) {
    // In a literal an empty pattern would be a comment.
    this.ast = parseRegExpLiteral(new RegExp(source, flags));
    this.#isUnicode = /[uv]/.test(flags);
    this.#flags = flags.replace(/[gyd]/g, "");
    this.#match = this.#alternatives(this.ast.pattern.alternatives, 1);
  }

  /**
   * Steps of finding every match in a text, each search where the last match has ended. A sticky pattern is tried at every
   * place in the same way, as rules of the normalizer are.
   *
   * @throws {TooManySteps} beyond `limit`
   */
  count(text: string, limit: number): number {
    this.#text = this.#isUnicode ? [...text] : text.split("");
    this.#steps = 0;
    this.#limit = limit;
    for (let at = 0; at <= this.#text.length; ) {
      let end = at;
      this.#captures.length = 0;
      const isFound = this.#match(at, (found) => {
        end = found;
        return true;
      });
      at = isFound && end > at ? end : at + 1;
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
    return (at, next) =>
      matchers.some((matcher) => {
        this.#step();
        return matcher(at, next);
      });
  }

  #sequence(elements: readonly AST.Element[], direction: Direction): Matcher {
    const ordered = direction === 1 ? elements : elements.toReversed();
    return ordered
      .map((element) => this.#element(element, direction))
      .reduceRight<Matcher>(
        (rest, first) => (at, next) => first(at, (end) => rest(end, next)),
        (at, next) => next(at),
      );
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
        return this.#character(element, direction);
    }
  }

  #character(node: AST.Element, direction: Direction): Matcher {
    const fits = this.#fitsOf(node);
    const offset = direction === 1 ? 0 : -1;
    return (at, next) => {
      this.#step();
      return fits(this.#text[at + offset]) && next(at + direction);
    };
  }

  /** Whether one character fits a node that stands for one. */
  fits(node: AST.Node, character: string): boolean {
    return this.#fitsOf(node)(character);
  }

  #fitsOf({ raw }: AST.Node): Fits {
    const pattern = new RegExp(`^(?:${raw})$`, this.#flags.replace("m", ""));
    const answers = new Map<string | undefined, boolean>([[undefined, false]]);
    const fits: Fits = (character) => {
      let answer = answers.get(character);
      if (answer === undefined) {
        answer = pattern.test(character ?? "");
        answers.set(character, answer);
      }
      return answer;
    };
    const known = this.#known.get(raw) ?? fits;
    this.#known.set(raw, known);
    return known;
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
      const captured = this.#text.slice(start, end);
      for (let i = 0; i <= captured.length; i++) this.#step();
      const from = direction === 1 ? at : at - captured.length;
      const isSame = captured.every((character, i) => this.#text[from + i] === character);
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

  /** The same for one character, without a call for each. */
  #repeated(
    element: AST.Element,
    { min, max, greedy }: Pick<AST.Quantifier, "min" | "max" | "greedy">,
    direction: Direction,
  ): Matcher {
    const fits = this.#fitsOf(element);
    const offset = direction === 1 ? 0 : -1;
    return (at, next) => {
      let count = 0;
      const take = () => {
        this.#step();
        if (count >= max || !fits(this.#text[at + direction * count + offset])) return false;
        count++;
        return true;
      };
      while (count < min) if (!take()) return false;
      if (!greedy) {
        do if (next(at + direction * count)) return true;
        while (take());
        return false;
      }
      while (take());
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
    return (at, next) => {
      this.#step();
      const isLineEnd = (index: number) => isMultiline && /[\n\r\u2028\u2029]/.test(this.#text[index] ?? "");
      const isWord = (index: number) => /\w/.test(this.#text[index] ?? "");
      if (assertion.kind === "start") return (at === 0 || isLineEnd(at - 1)) && next(at);
      if (assertion.kind === "end") return (at === this.#text.length || isLineEnd(at)) && next(at);
      const isEdge = isWord(at - 1) !== isWord(at);
      return (assertion.kind === "word" && assertion.negate ? !isEdge : isEdge) && next(at);
    };
  }
}

export function isOneCharacter(element: AST.Element): boolean {
  return ["Character", "CharacterClass", "CharacterSet", "ExpressionCharacterClass"].includes(element.type);
}
