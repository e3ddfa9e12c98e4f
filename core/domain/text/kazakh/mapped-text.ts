/**
 * Text that remembers where it comes from: for each of its UTF-16 units the range [start, end) of the source it stands
 * for. Ranges never go back. While nothing has been replaced there is nothing to remember.
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

  /** Where in the source the unit at `at` begins. */
  startOf(at: number): number {
    return this.#starts === null ? at : this.#starts[at]!;
  }

  /** Where in the source the unit at `at` ends. */
  endOf(at: number): number {
    return this.#ends === null ? at + 1 : this.#ends[at]!;
  }

  /**
   * Replaces what a global pattern finds. A replacement of the same length maps unit by unit, any other as a whole.
   * @param replace gets the match and where it begins in the source
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
