import type { ComponentChildren } from "preact";
import { useLoaded } from "../hooks.js";
import { Link } from "../router.js";
import { useWords } from "../text/language.js";
import { PageHead, Shown } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

type AtOnce = Readonly<Record<"synthesis" | "files" | "live", number>>;

interface LimitsBody {
  readonly tier: "free" | "paid";
  readonly at_once: Readonly<Record<"free" | "paid", AtOnce>>;
  readonly text: {
    readonly characters: number;
    readonly spoken_characters: number;
    readonly speech_seconds: number;
  };
  readonly file: {
    readonly audio_seconds: number;
    readonly upload_bytes: number;
    readonly fetch_bytes: number;
  };
  readonly live: {
    readonly texts: number;
    readonly texts_per_second: number;
    readonly small_audio: number;
    readonly small_audio_per_second: number;
    readonly small_bytes: number;
  };
  readonly json_bytes: number;
  readonly keys: number;
  readonly sign_ins: number;
  readonly sign_ins_seconds: number;
  readonly session_seconds: number;
  readonly invitation_seconds: number;
  readonly playground_key_seconds: number;
}

/** What applies to this organization, as the service has it. */
export function Limits({ organization }: ViewProps) {
  const { t } = useWords();
  const [limits, reload] = useLoaded<LimitsBody>(`/organizations/${organization.id}/limits`);
  return (
    <>
      <PageHead title={t("limits")} lead={t("limitsLead")} />
      <Shown loaded={limits} retry={() => void reload()}>
        {(found) => <All limits={found} />}
      </Shown>
    </>
  );
}

function All({ limits }: { readonly limits: LimitsBody }) {
  const { t, number } = useWords();
  const { tier, at_once: atOnce, text, file, live } = limits;
  const span = useSpan();
  const size = useSize();
  const rate = (atOnce: number, perSecond: number) =>
    t("rate", { atOnce: number(atOnce), perSecond: number(perSecond) });
  return (
    <>
      <section class="card">
        <h2>{t("atOnce")}</h2>
        <p class="hint">{t("atOnceLead")}</p>
        <table class="limits">
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden">{t("kind")}</span>
              </th>
              <th scope="col" class="end">
                {t("yours")}
              </th>
              {tier === "free" && (
                <th scope="col" class="end">
                  {t("afterPayment")}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {(["synthesis", "files", "live"] as const).map((kind) => (
              <tr key={kind}>
                <th scope="row">{t(`atOnce_${kind}`)}</th>
                <td class="end number">{number(atOnce[tier][kind])}</td>
                {tier === "free" && <td class="end number soft">{number(atOnce.paid[kind])}</td>}
              </tr>
            ))}
          </tbody>
        </table>
        {tier === "free" && (
          <p class="hint">
            {t("afterPaymentNote")} <Link to="credits">{t("toCredits")}</Link>
          </p>
        )}
      </section>
      <div class="halves">
        <Facts title={t("speak")}>
          <Fact name={t("textLength")}>{t("charactersUnit", { n: text.characters })}</Fact>
          <Fact name={t("spokenLength")}>
            {t("charactersUnit", { n: text.spoken_characters })}, {span(text.speech_seconds)}
          </Fact>
        </Facts>
        <Facts title={t("transcribe")}>
          <Fact name={t("audioLength")}>{span(file.audio_seconds)}</Fact>
          <Fact name={t("uploadSize")}>{size(file.upload_bytes)}</Fact>
          <Fact name={t("fetchSize")}>{size(file.fetch_bytes)}</Fact>
        </Facts>
        <Facts title={t("listen")}>
          <Fact name={t("textMessages")}>{rate(live.texts, live.texts_per_second)}</Fact>
          <Fact name={t("smallAudio", { n: live.small_bytes })}>
            {rate(live.small_audio, live.small_audio_per_second)}
          </Fact>
        </Facts>
        <Facts title={t("consoleAndKeys")}>
          <Fact name={t("jsonSize")}>{size(limits.json_bytes)}</Fact>
          <Fact name={t("activeKeysLimit")}>{number(limits.keys)}</Fact>
          <Fact name={t("signInTries")}>
            {t("triesIn", { tries: number(limits.sign_ins), span: span(limits.sign_ins_seconds) })}
          </Fact>
          <Fact name={t("sessionLength")}>{span(limits.session_seconds)}</Fact>
          <Fact name={t("invitationLength")}>{span(limits.invitation_seconds)}</Fact>
          <Fact name={t("playgroundKeyLength")}>{span(limits.playground_key_seconds)}</Fact>
        </Facts>
      </div>
      <p class="hint">
        {t("moreLimits")} <a href="/docs">{t("reference")}</a>
      </p>
    </>
  );
}

function Facts({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <dl class="pairs">{children}</dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  );
}

/** A time in the largest unit that it is a whole number of. */
function useSpan() {
  const { t } = useWords();
  return (seconds: number) => {
    if (seconds % 86_400 === 0) return t("daysUnit", { n: seconds / 86_400 });
    if (seconds % 3_600 === 0) return t("hoursUnit", { n: seconds / 3_600 });
    return t("minutesUnit", { n: seconds / 60 });
  };
}

/** Bytes in the largest unit that they are a whole number of. */
function useSize() {
  const { t, number } = useWords();
  return (bytes: number) => {
    if (bytes % 2 ** 30 === 0) return `${number(bytes / 2 ** 30)} ${t("gibibytes")}`;
    if (bytes % 2 ** 10 === 0) return `${number(bytes / 2 ** 10)} ${t("kibibytes")}`;
    return t("bytesUnit", { n: bytes });
  };
}
