import type { WrittenLists } from "./vocabulary-lines.js";

/** Unsaved lists by organization, only in the page's memory, so that another page can be opened meanwhile. */
export const vocabularyDrafts = new Map<string, WrittenLists>();
