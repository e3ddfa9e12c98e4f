import { useState } from "preact/hooks";
import type { TextName } from "../text/en.js";
import { chooseLanguage, LANGUAGES, language, t } from "../text/language.js";
import { applyTheme, initialTheme, THEMES, type Theme } from "../theme.js";
import { Select } from "./form.js";

const THEME_TEXTS: Readonly<Record<Theme, TextName>> = {
  system: "themeSystem",
  light: "themeLight",
  dark: "themeDark",
};

export function Preferences() {
  const [theme, setTheme] = useState(initialTheme);
  const choose = (name: string) => {
    const chosen = THEMES.find((candidate) => candidate === name) ?? "system";
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <div class="preferences">
      <Select
        label={t("language")}
        value={language.use()}
        options={Object.entries(LANGUAGES).map(([value, text]) => ({ value, text, lang: value }))}
        onChoose={chooseLanguage}
      />
      <Select
        label={t("theme")}
        value={theme}
        options={THEMES.map((value) => ({ value, text: t(THEME_TEXTS[value]) }))}
        onChoose={choose}
      />
    </div>
  );
}
