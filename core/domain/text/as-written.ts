import type { NormalizeOptions, SpokenText, SpokenWord } from "./kazakh/normalize.js";

const TOKEN = /\S+/gu;
const SAYABLE = /[\p{L}\p{N}]/u;
/** Control characters, surrogates, and unassigned characters. */
const UNSAYABLE = /\p{C}/gu;
/** Characters that join or direct letters are silent, and not counted as dropped. */
const FORMAT = /\p{Cf}/u;

/**
 * Passes a text to a voice whose own phonemizer reads numbers and signs, because no rules here know its
 * language.
 *
 * Drops only characters that cannot be spoken at all, and reduces white space to single spaces. Applies the
 * dictionary.
 */
export function readAsWritten(
  text: string,
  { dictionary }: Pick<NormalizeOptions, "dictionary">,
): SpokenText {
  const out = new SpokenAsWritten();
  let at = 0;
  for (const name of dictionary?.find(text) ?? []) {
    out.copy(text.slice(at, name.at), at);
    out.say(name.spoken, { start: name.at, end: name.next });
    at = name.next;
  }
  out.copy(text.slice(at), at);
  return out.done();
}

/** Spoken text while it is assembled, and the words in it. */
export class SpokenAsWritten {
  #spoken = "";
  /** True if white space followed the last word. */
  #hasGap = false;
  readonly #words: SpokenWord[] = [];
  readonly #dropped: number[] = [];

  /** Adds words of the text from `offset` on. */
  copy(written: string, offset: number): void {
    let end = 0;
    for (const { 0: token, index } of written.matchAll(TOKEN)) {
      this.#hasGap ||= index > end;
      end = index + token.length;
      const plain = token.replace(UNSAYABLE, (character, place: number) => {
        if (!FORMAT.test(character)) this.#dropped.push(offset + index + place);
        return "";
      });
      if (plain !== "") this.#append(plain, { start: offset + index, end: offset + end });
    }
    this.#hasGap ||= end < written.length;
  }

  /** Adds words that replace one part of the text. */
  say(spoken: string, source: { readonly start: number; readonly end: number }): void {
    for (const word of spoken === "" ? [] : spoken.split(" ")) {
      this.#append(word, source);
      this.#hasGap = true;
    }
    this.#hasGap = spoken === "";
  }

  /** Separates the previous words from the next ones. */
  gap(): void {
    this.#hasGap = true;
  }

  done(): SpokenText {
    const isHeard = this.#words.length > 0;
    return { spoken: isHeard ? this.#spoken : "", words: this.#words, dropped: this.#dropped };
  }

  #append(word: string, source: { readonly start: number; readonly end: number }): void {
    if (this.#hasGap && this.#spoken !== "") this.#spoken += " ";
    this.#hasGap = false;
    const spokenStart = this.#spoken.length;
    this.#spoken += word;
    if (SAYABLE.test(word)) this.#words.push({ spokenStart, spokenEnd: this.#spoken.length, ...source });
  }
}
