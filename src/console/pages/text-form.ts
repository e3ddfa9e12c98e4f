import type { TextForm } from "./shown-words.js";
import { Store } from "./store.js";

const STORAGE_KEY = "dauys.text-form";

/** The user's choice for all pages, stored in the browser. */
export const textForm = new Store<TextForm>(
  localStorage.getItem(STORAGE_KEY) === "spoken" ? "spoken" : "readable",
);

export function chooseTextForm(form: TextForm): void {
  localStorage.setItem(STORAGE_KEY, form);
  textForm.set(form);
}
