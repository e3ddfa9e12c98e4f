import { Store } from "./store.js";

/** How transcripts are shown: with capitals, punctuation and figures, or word by word as spoken. */
export const TEXT_FORMS = ["readable", "spoken"] as const;
export type TextForm = (typeof TEXT_FORMS)[number];

const STORAGE_KEY = "dauys.text-form";

/** One choice for all pages, which the browser remembers. */
export const textForm = new Store<TextForm>(
  localStorage.getItem(STORAGE_KEY) === "spoken" ? "spoken" : "readable",
);

export function chooseTextForm(form: TextForm): void {
  localStorage.setItem(STORAGE_KEY, form);
  textForm.set(form);
}
