import { MOST_HOT_WORDS } from "../../../core/domain/decoding/hot-words.js";
import {
  LONGEST_SPEECH_SECONDS,
  LONGEST_SPOKEN_CHARACTERS,
} from "../../../core/domain/synthesis/longest-speech.js";
import { MOST_PRONUNCIATIONS } from "../../../core/domain/text/kazakh/dictionary.js";
import { DEFAULT_SCORE, LARGEST_SCORE, LONGEST_HOT_WORD } from "../../../core/protocol/hot-words.js";
import { LONGEST_ENTRY } from "../../../core/protocol/pronunciations.js";
import { SERVICE_VERSION } from "../../../core/protocol/service-version.js";
import { LONGEST_TEXT } from "../../../core/protocol/synthesis-request.js";
import { LONGEST_JSON_BYTES } from "../../http/read-body.js";
import { TEMPORARY_KEY_LIFETIME_S } from "../../http/signed-credentials.js";
import { LONGEST_FETCH_BYTES, LONGEST_UPLOAD_BYTES } from "../../http/spool.js";
import { SIGN_INS_OF_EMAIL } from "./attempt-limiter.js";
import { MOST_KEYS } from "./key-routes.js";
import { INVITATION_LIFETIME_S } from "./member-routes.js";
import { API, type ConsoleDeps, type ConsoleRoute, type MemberCall, ORGANIZATION } from "./route.js";
import { SESSION_LIFETIME_S } from "./sessions.js";

/** Lists the routes for prices, limits and status, which pages read instead of repeating the numbers. */
export function serviceRoutes({ facts, mailing }: ConsoleDeps): readonly ConsoleRoute[] {
  const prices = async () => {
    const tariffs = Object.entries(facts.tariffs).map(([kind, { credits, perUnits }]) => [
      kind,
      { credits, per_units: perUnits },
    ]);
    const { creditPrice, contact } = facts;
    return {
      body: {
        tariffs: Object.fromEntries(tariffs),
        credit_price: creditPrice,
        contact,
        mail: mailing !== null,
      },
    };
  };
  const status = async () => {
    const { isReady, engines, models, broken } = await facts.status();
    return {
      body: {
        is_ready: isReady,
        version: SERVICE_VERSION,
        model_idle_s: facts.modelIdleMs / 1_000,
        engines: engines.map(({ loadMs, ...engine }) => ({
          ...engine,
          load_ms: loadMs === null ? null : Math.round(loadMs),
        })),
        models: models.map(({ isDefault, ...model }) => ({ ...model, default: isDefault })),
        broken,
      },
    };
  };
  return [
    // Open to anyone, because a user who forgot the password needs the operator's contact.
    { method: "GET", path: `${API}/prices`, access: "open", handle: prices },
    { method: "GET", path: `${API}/status`, access: "user", handle: status },
    { method: "GET", path: `${ORGANIZATION}/limits`, access: "member", handle: limits },
  ];
}

async function limits({ deps, organizationId }: MemberCall) {
  const { concurrency, longestFileSeconds, liveMessages } = deps.facts;
  const { tier } = await deps.store.reports.credits(organizationId);
  return {
    body: {
      tier,
      at_once: concurrency,
      text: {
        characters: LONGEST_TEXT,
        spoken_characters: LONGEST_SPOKEN_CHARACTERS,
        speech_seconds: LONGEST_SPEECH_SECONDS,
      },
      file: {
        audio_seconds: longestFileSeconds,
        upload_bytes: LONGEST_UPLOAD_BYTES,
        fetch_bytes: LONGEST_FETCH_BYTES,
      },
      vocabulary: {
        hot_words: MOST_HOT_WORDS,
        hot_word_characters: LONGEST_HOT_WORD,
        usual_weight: DEFAULT_SCORE,
        largest_weight: LARGEST_SCORE,
        pronunciations: MOST_PRONUNCIATIONS,
        pronunciation_characters: LONGEST_ENTRY,
      },
      live: {
        texts: liveMessages.texts,
        texts_per_second: liveMessages.textsPerSecond,
        small_audio: liveMessages.smallAudio,
        small_audio_per_second: liveMessages.smallAudioPerSecond,
        small_bytes: liveMessages.smallBytes,
      },
      json_bytes: LONGEST_JSON_BYTES,
      keys: MOST_KEYS,
      sign_ins: SIGN_INS_OF_EMAIL.attempts,
      sign_ins_seconds: SIGN_INS_OF_EMAIL.windowMs / 1_000,
      session_seconds: SESSION_LIFETIME_S,
      invitation_seconds: INVITATION_LIFETIME_S,
      playground_key_seconds: TEMPORARY_KEY_LIFETIME_S,
    },
  };
}
