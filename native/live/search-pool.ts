import type { GrowingSearch } from "../../core/domain/decoding/growing-search.js";

/** Searches of utterances that are spoken, each with its workspace; a session has one as long as it lasts. */
export class SearchPool {
  readonly #make: () => GrowingSearch;
  readonly #free: GrowingSearch[] = [];

  constructor(make: () => GrowingSearch) {
    this.#make = make;
  }

  /** A search to be begun. */
  acquire(): GrowingSearch {
    return this.#free.pop() ?? this.#make();
  }

  release(search: GrowingSearch): void {
    this.#free.push(search);
  }
}
