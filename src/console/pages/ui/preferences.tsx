import { useContext, useState } from "preact/hooks";
import type { TextName } from "../text/en.js";
import { LANGUAGES, LanguageContext, useWords } from "../text/language.js";
import { applyTheme, initialTheme, THEMES, type Theme } from "../theme.js";

const THEME_TEXTS: Readonly<Record<Theme, TextName>> = {
  system: "themeSystem",
  light: "themeLight",
  dark: "themeDark",
};

/** Language and appearance. */
export function Preferences({ onLanguage }: { readonly onLanguage: (name: string) => void }) {
  const { t } = useWords();
  const language = useContext(LanguageContext);
  const [theme, setTheme] = useState(initialTheme);
  const choose = (name: string) => {
    const chosen = THEMES.find((candidate) => candidate === name) ?? "system";
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <div class="preferences">
      <select
        aria-label={t("language")}
        value={language}
        onChange={(event) => onLanguage(event.currentTarget.value)}
      >
        {Object.entries(LANGUAGES).map(([name, text]) => (
          <option key={name} value={name} lang={name}>
            {text}
          </option>
        ))}
      </select>
      <select aria-label={t("theme")} value={theme} onChange={(event) => choose(event.currentTarget.value)}>
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {t(THEME_TEXTS[name])}
          </option>
        ))}
      </select>
    </div>
  );
}
