import type { KeyEndpoint } from "../api.js";
import { t } from "../text/language.js";
import { Field } from "./form.js";

/** Names of the endpoints that a key may be limited to. */
export const ENDPOINTS = {
  tts: "endpoint_tts",
  transcribe: "endpoint_transcribe",
  live: "endpoint_live",
  jobs: "endpoint_jobs",
  "account:read": "endpoint_account",
  "account:write": "endpoint_vocabulary",
} as const satisfies Record<KeyEndpoint, string>;

/** The form field that each error code is about. */
export const LIMIT_FIELDS = {
  cap_invalid: "monthly_credits",
  expiry_invalid: "expires_at",
} as const;

type LimitName = "monthly_credits" | "expires_at";

interface LimitFieldsProps {
  readonly field: (name: LimitName) => {
    readonly name: string;
    readonly error: string | undefined;
    readonly value: string;
    readonly onInput: (value: string) => void;
  };
  readonly endpoints: readonly KeyEndpoint[];
  readonly setEndpoints: (endpoints: readonly KeyEndpoint[]) => void;
}

/** The fields for a key's monthly cap, expiry and endpoints. */
export function LimitFields({ field, endpoints, setEndpoints }: LimitFieldsProps) {
  const names = Object.keys(ENDPOINTS) as KeyEndpoint[];
  const toggle = (name: KeyEndpoint, isOn: boolean) =>
    setEndpoints(names.filter((other) => (other === name ? isOn : endpoints.includes(other))));
  return (
    <>
      <Field
        {...field("monthly_credits")}
        label={t("monthlyCap")}
        hint={t("monthlyCapHint")}
        type="number"
        required={false}
        autocomplete="off"
      />
      <Field
        {...field("expires_at")}
        label={t("keyExpires")}
        hint={t("keyExpiresHint")}
        type="date"
        required={false}
        autocomplete="off"
      />
      <fieldset class="choices">
        <legend>{t("keyEndpoints")}</legend>
        {names.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={endpoints.includes(name)}
              onChange={(event) => toggle(name, event.currentTarget.checked)}
            />
            {t(ENDPOINTS[name])}
          </label>
        ))}
        <p class="hint">{t("keyEndpointsHint")}</p>
      </fieldset>
    </>
  );
}

/** Returns the limits for the request body from the form's fields. An empty field means no limit. */
export function limitsBody(
  { monthly_credits, expires_at }: Readonly<Record<LimitName, string>>,
  endpoints: readonly KeyEndpoint[],
) {
  return {
    monthly_credits: monthly_credits.trim() === "" ? null : Number(monthly_credits),
    expires_at: expires_at === "" ? null : expires_at,
    endpoints: endpoints.length === 0 ? null : endpoints,
  };
}
