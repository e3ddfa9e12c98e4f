import type { AST } from "@eslint-community/regexpp";
import { isOneCharacter, type StepCounter } from "./step-counter.js";

/** Characters of every kind that a class may distinguish. */
const COMMON = [..."aZ0_ \n\t-.,@:/\"'()ёәЖІ²½\u0301\u200d😀"];
/** None of our patterns can end at this character. */
const STRANGE = "\u0001";
const MOST_LETTERS = 16;
const MOST_SAMPLES = 4;

/** One hostile text: a beginning, a repeated part, and an ending that may make the match fail. */
export interface HostileInput {
  readonly before: string;
  readonly pumped: string;
  readonly after: string;
}

export function textOf({ before, pumped, after }: HostileInput, length: number): string {
  return before + pumped.repeat(Math.ceil(length / pumped.length)) + after;
}

/**
 * Builds inputs that make a backtracking pattern retry: the text of each repetition after its required
 * beginning and before a forbidden ending, and all pairs of characters that the pattern distinguishes.
 */
export function hostileInputs(counter: StepCounter): HostileInput[] {
  const sampler = new Sampler(counter);
  const inputs = new Map<string, HostileInput>();
  const add = (before: string, pumped: string, after: string) => {
    if (pumped !== "") inputs.set(`${before}\0${pumped}\0${after}`, { before, pumped, after });
  };
  const quantifiers = repetitionsOf(counter.ast);
  if (quantifiers.length === 0) return [];
  for (const quantifier of quantifiers) {
    const before = sampler.sidesOf(quantifier, "before");
    const after = sampler.sidesOf(quantifier, "after");
    for (const inside of sampler.samples(quantifier.element)) {
      for (const end of ["", STRANGE, after, after + STRANGE]) {
        for (const begin of ["", STRANGE, before]) {
          add(begin, inside, end);
          add(begin, before + inside, end);
          add(begin, before + inside + after, end);
        }
      }
      for (const letter of sampler.letters) {
        add(before, inside + letter, STRANGE);
        add(before, inside, letter);
      }
    }
  }
  for (const first of sampler.letters) {
    for (const second of sampler.letters) {
      for (const side of ["", STRANGE]) add(side, first === second ? first : first + second, side);
    }
  }
  return [...inputs.values()];
}

/** Returns the repetitions that can be long. */
function repetitionsOf(root: AST.Node): AST.Quantifier[] {
  const found: AST.Quantifier[] = [];
  visit(root, (node) => {
    if (node.type === "Quantifier" && node.max > 8) found.push(node);
  });
  return found;
}

function visit(node: AST.Node, see: (node: AST.Node) => void): void {
  see(node);
  if (node.type === "RegExpLiteral") visit(node.pattern, see);
  if ("alternatives" in node) for (const child of node.alternatives) visit(child as AST.Node, see);
  if ("elements" in node) for (const child of node.elements) visit(child as AST.Node, see);
  if (node.type === "Quantifier") visit(node.element, see);
}

/** Creates texts that parts of a pattern match. */
class Sampler {
  readonly letters: readonly string[];
  readonly #counter: StepCounter;
  readonly #candidates: readonly string[];

  constructor(counter: StepCounter) {
    this.#counter = counter;
    const own = new Set<string>();
    const nodes: AST.Node[] = [];
    visit(counter.ast, (node) => {
      nodes.push(node);
      if (node.type === "Character") own.add(String.fromCodePoint(node.value));
      if (node.type !== "CharacterClass") return;
      for (const element of node.elements) {
        if (element.type === "Character") own.add(String.fromCodePoint(element.value));
        if (element.type === "CharacterClassRange") own.add(String.fromCodePoint(element.min.value));
      }
    });
    this.#candidates = [...new Set([...own, ...COMMON])];
    // One letter of each kind is enough. Letters that all nodes treat alike are of one kind.
    const kinds = new Map<string, string>();
    const singles = nodes.filter(
      (node) => isOneCharacter(node as AST.Element) && node.parent?.type !== "CharacterClass",
    );
    for (const letter of this.#candidates) {
      const kind = singles.map((node) => (counter.fits(node, letter) ? 1 : 0)).join("");
      if (!kinds.has(kind)) kinds.set(kind, letter);
    }
    this.letters = [...kinds.values()].slice(0, MOST_LETTERS);
  }

  samples(element: AST.Element): readonly string[] {
    switch (element.type) {
      case "Quantifier": {
        const times = Math.max(1, Math.min(element.min, 3));
        return this.samples(element.element).map((sample) => sample.repeat(times));
      }
      case "Group":
      case "CapturingGroup":
        return unique(element.alternatives.flatMap(({ elements }) => this.#sequence(elements)));
      case "Assertion":
      case "Backreference":
        return [""];
      default: {
        const fitting = this.#candidates.filter((letter) => this.#counter.fits(element, letter));
        return fitting.slice(0, MOST_SAMPLES);
      }
    }
  }

  /** Returns one sample of everything next to a node, up to the edge of the pattern. */
  sidesOf(node: AST.Node, side: "before" | "after"): string {
    const { parent } = node;
    if (parent === null || parent.type === "Pattern") return "";
    if (parent.type !== "Alternative") return this.sidesOf(parent, side);
    const index = parent.elements.indexOf(node as AST.Element);
    const beside = side === "before" ? parent.elements.slice(0, index) : parent.elements.slice(index + 1);
    const sample = beside.map((element) => this.#least(element)).join("");
    const outside = this.sidesOf(parent, side);
    return side === "before" ? outside + sample : sample + outside;
  }

  #least(element: AST.Element): string {
    if (element.type === "Quantifier")
      return element.min === 0 ? "" : this.#least(element.element).repeat(element.min);
    return this.samples(element)[0] ?? "";
  }

  #sequence(elements: readonly AST.Element[]): readonly string[] {
    let sequences: readonly string[] = [""];
    for (const element of elements) {
      const samples = this.samples(element);
      sequences = unique(sequences.flatMap((head) => samples.map((sample) => head + sample)));
    }
    return sequences;
  }
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].slice(0, MOST_SAMPLES);
}
