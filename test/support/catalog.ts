import {
  type Catalog,
  type HearingModel,
  ModelList,
  type SpeakingModel,
} from "../../core/domain/catalog/catalog.js";
import { PLAIN_MANNER } from "../../core/domain/synthesis/voice-manner.js";

const VOICE = { name: "aigul", gender: "female", style: null, best_for: "news", manner: PLAIN_MANNER };

export const SPEAKING: SpeakingModel = {
  name: "svc-kk-v1",
  task: "synthesis",
  lang: "kk",
  sample_rate: 24_000,
  voices: [VOICE],
  default_voice: "aigul",
  notes: "Speaks <Kazakh> only. Other languages sound wrong.",
  created: "2026-11-22",
  word_times: true,
  solver_steps: true,
};

const HEARING: HearingModel = {
  name: "svc-kk-ru-v2",
  task: "transcription",
  lang: "kk-ru",
  sample_rate: 16_000,
  notes: null,
  created: null,
  family: "ctc-two-pass",
  alphabet: new Set("сәлем әп-"),
  writes_marks: false,
  live_partials: true,
};

/** The models of a default service. */
export const CATALOG: Catalog = {
  speaking: new ModelList([SPEAKING]),
  hearing: new ModelList([HEARING]),
};

/** Two models for each task. The second has another voice, no word times and no hot words. */
export const TWO_OF_EACH: Catalog = {
  speaking: new ModelList([
    SPEAKING,
    {
      ...SPEAKING,
      name: "voices",
      voices: [{ ...VOICE, name: "iseke" }],
      default_voice: "iseke",
      word_times: false,
      solver_steps: false,
    },
  ]),
  hearing: new ModelList([
    HEARING,
    { ...HEARING, name: "pieces", family: "nemo-ctc", alphabet: new Set(), live_partials: false },
  ]),
};

/** Returns a single recognizer with these letters. */
export function hearingIn(letters: string): ModelList<HearingModel> {
  return new ModelList([{ ...HEARING, alphabet: new Set(letters) }]);
}
