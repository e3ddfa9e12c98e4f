/**
 * A text with the source range [start, end) of each of its UTF-16 units, in ascending order. Without
 * replacements the mapping is the identity and takes no memory.
 */
export class MappedText {
  readonly text: string;
  readonly #starts: Int32Array | null;
  readonly #ends: Int32Array | null;

  constructor(text: string, starts: Int32Array | null = null, ends: Int32Array | null = null) {
    this.text = text;
    this.#starts = starts;
    this.#ends = ends;
  }

  /** Start in the source of the unit at `at`. */
  startOf(at: number): number {
    return this.#starts === null ? at : this.#starts[at]!;
  }

  /** End in the source of the unit at `at`. */
  endOf(at: number): number {
    return this.#ends === null ? at + 1 : this.#ends[at]!;
  }

  /**
   * Replaces matches of a global pattern. Replacements of the same length map unit by unit, others as a
   * whole.
   * @param replace receives the match and its start in the source
   */
  replace(pattern: RegExp, replace: (match: string, sourceStart: number) => string): MappedText {
    const edits: { at: number; length: number; by: string }[] = [];
    let length = this.text.length;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(this.text); match !== null; match = pattern.exec(this.text)) {
      const found = match[0];
      const by = replace(found, this.startOf(match.index));
      if (by === found) continue;
      edits.push({ at: match.index, length: found.length, by });
      length += by.length - found.length;
    }
    return edits.length === 0 ? this : this.#edited(edits, length);
  }

  #edited(
    edits: readonly { readonly at: number; readonly length: number; readonly by: string }[],
    length: number,
  ): MappedText {
    const starts = new Int32Array(length);
    const ends = new Int32Array(length);
    let text = "";
    let from = 0;
    let to = 0;
    const copyUntil = (end: number) => {
      text += this.text.slice(from, end);
      for (; from < end; from++, to++) {
        starts[to] = this.startOf(from);
        ends[to] = this.endOf(from);
      }
    };
    for (const edit of edits) {
      copyUntil(edit.at);
      const last = edit.at + edit.length - 1;
      const isUnitByUnit = edit.by.length === edit.length;
      for (let i = 0; i < edit.by.length; i++, to++) {
        starts[to] = this.startOf(isUnitByUnit ? edit.at + i : edit.at);
        ends[to] = this.endOf(isUnitByUnit ? edit.at + i : last);
      }
      text += edit.by;
      from = edit.at + edit.length;
    }
    copyUntil(this.text.length);
    return new MappedText(text, starts, ends);
  }
}
