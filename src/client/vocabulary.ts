import { urlOf } from "./query.js";
import type { CallOptions, Requester, RequestPlan } from "./requester.js";
import type { Pronunciation } from "./speech-types.js";

/** Words that apply to all requests of an organization. */
export interface VocabularyWords {
  /** Words and phrases that transcriptions prefer, at most 100; `word:2` prefers one more strongly. */
  readonly hotwords: readonly string[];
  /** How words sound in speech, at most 100. */
  readonly pronunciations: readonly Pronunciation[];
}

/** Parts of the client that the methods use. */
export interface VocabularyParts {
  readonly requester: Requester;
  readonly url: URL;
  readonly authorization: Readonly<Record<string, string>>;
}

const PATH = "v1/vocabulary";

/** Hot words and pronunciations that an organization stores once, for all of its keys. */
export class Vocabulary {
  readonly #parts: VocabularyParts;

  constructor(parts: VocabularyParts) {
    this.#parts = parts;
  }

  /** Returns the stored words; empty lists if there are none. */
  async get(options: CallOptions = {}): Promise<VocabularyWords> {
    return this.#ask({ method: "GET", headers: this.#parts.authorization }, options);
  }

  /** Replaces both lists, one that is left out with an empty one, and returns them. */
  async set(words: Partial<VocabularyWords>, options: CallOptions = {}): Promise<VocabularyWords> {
    const headers = { "content-type": "application/json", ...this.#parts.authorization };
    const bytes = new TextEncoder().encode(JSON.stringify(words));
    return this.#ask({ method: "PUT", headers, body: { type: "bytes", bytes } }, options);
  }

  async #ask(plan: Omit<RequestPlan, "url">, options: CallOptions): Promise<VocabularyWords> {
    const { requester, url } = this.#parts;
    const response = await requester.open({ ...plan, url: urlOf(url, PATH) }, options);
    return (await response.json()) as VocabularyWords;
  }
}
