import type { ComponentChildren } from "preact";
import { useWords } from "../text/language.js";
import { Preferences } from "./preferences.js";

interface GateProps {
  readonly title: string;
  readonly lead: string;
  readonly onLanguage: (name: string) => void;
  readonly children: ComponentChildren;
}

/** Before it is known what to show: nothing at first, so that quick answers do not flicker. */
export function Waiting() {
  const { t } = useWords();
  return (
    <main class="gate" aria-busy="true">
      <p class="waiting" role="status">
        <span class="spinner" aria-hidden="true" />
        {t("loading")}
      </p>
    </main>
  );
}

/** A page for those who are not in yet. */
export function Gate({ title, lead, onLanguage, children }: GateProps) {
  return (
    <main class="gate">
      <div class="card">
        <img src={new URL("../icon.svg", import.meta.url).href} alt="Dauys" width="40" height="40" />
        <h1 tabIndex={-1}>{title}</h1>
        <p class="lead">{lead}</p>
        {children}
      </div>
      <Preferences onLanguage={onLanguage} />
    </main>
  );
}
