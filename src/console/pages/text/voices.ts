import type { Voices } from "../../../client/browser.js";
import { en, type TextName } from "./en.js";

type Voice = Voices["voices"][number];

export interface VoiceTexts {
  readonly display: string;
  readonly gender: string | null;
  readonly style: string | null;
  readonly uses: string | null;
}

/** Translates a model's texts about a voice where a translation exists. */
export function voiceTexts(voice: Voice, t: (name: TextName) => string): VoiceTexts {
  const { name, gender, style, best_for } = voice;
  const capital = name.charAt(0).toUpperCase() + name.slice(1);
  const translated = (kind: string, text: string | null) => {
    const key = `${kind}_${name}`;
    return text !== null && isText(key) && en[key] === text ? t(key) : text;
  };
  const genderKey = `gender_${gender}`;
  return {
    display: translated("voice", capital) ?? capital,
    gender: isText(genderKey) ? t(genderKey) : gender,
    style: translated("style", style),
    uses: translated("uses", best_for),
  };
}

function isText(name: string): name is TextName {
  return Object.hasOwn(en, name);
}
