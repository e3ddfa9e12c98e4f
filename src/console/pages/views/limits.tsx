import type { ComponentChildren } from "preact";
import type { ViewProps } from "../api.js";
import { useLoaded } from "../hooks.js";
import { Link } from "../router.js";
import { number, t } from "../text/language.js";
import { type Column, Table } from "../ui/data-table.js";
import { PageHead, WhenLoaded } from "../ui/parts.js";
import type { VocabularyLimits } from "../vocabulary-lines.js";

type AtOnce = Readonly<Record<"synthesis" | "files" | "live", number>>;

interface LimitsBody {
  readonly vocabulary: VocabularyLimits;
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

export function Limits({ organization }: ViewProps) {
  const [limits, reload] = useLoaded<LimitsBody>(`/organizations/${organization.id}/limits`);
  return (
    <>
      <PageHead title={t("limits")} lead={t("limitsLead")} />
      <WhenLoaded loaded={limits} retry={reload}>
        {(found) => <Sections limits={found} />}
      </WhenLoaded>
    </>
  );
}

function Sections({ limits }: { readonly limits: LimitsBody }) {
  const { text, file, vocabulary, live } = limits;
  return (
    <>
      <Concurrency limits={limits} />
      <div class="halves">
        <Facts title={t("speak")}>
          <Fact name={t("textLength")}>{t("charactersUnit", { n: text.characters })}</Fact>
          <Fact name={t("spokenLength")}>
            {t("charactersUnit", { n: text.spoken_characters })}, {span(text.speech_seconds)}
          </Fact>
          <Fact name={t("pronunciations")}>{number(vocabulary.pronunciations)}</Fact>
        </Facts>
        <Facts title={t("transcribe")}>
          <Fact name={t("audioLength")}>{span(file.audio_seconds)}</Fact>
          <Fact name={t("uploadSize")}>{size(file.upload_bytes)}</Fact>
          <Fact name={t("fetchSize")}>{size(file.fetch_bytes)}</Fact>
          <Fact name={t("hotWords")}>{number(vocabulary.hot_words)}</Fact>
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

function Concurrency({ limits: { tier, at_once: atOnce } }: { readonly limits: LimitsBody }) {
  const isFree = tier === "free";
  const columns: readonly Column<keyof AtOnce>[] = [
    {
      id: "kind",
      title: t("kind"),
      isTitleHidden: true,
      isHead: true,
      cell: (kind) => t(`work_${kind === "files" ? "file" : kind}`),
    },
    { id: "yours", title: t("yours"), isEnd: true, cell: (kind) => number(atOnce[tier][kind]) },
    {
      id: "paid",
      title: t("afterPayment"),
      isEnd: true,
      cell: (kind) => <span class="soft">{number(atOnce.paid[kind])}</span>,
    },
  ];
  return (
    <section class="card">
      <h2>{t("atOnce")}</h2>
      <p class="hint">{t("atOnceLead")}</p>
      <Table
        class="limits"
        columns={isFree ? columns : columns.slice(0, 2)}
        rows={["synthesis", "files", "live"] as const}
        keyOf={(kind) => kind}
      />
      {isFree && (
        <p class="hint">
          {t("afterPaymentNote")} <Link to="credits">{t("toCredits")}</Link>
        </p>
      )}
    </section>
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

/** Formats a time in the largest unit that divides it. */
function span(seconds: number): string {
  if (seconds % 86_400 === 0) return t("daysUnit", { n: seconds / 86_400 });
  if (seconds % 3_600 === 0) return t("hoursUnit", { n: seconds / 3_600 });
  return t("minutesUnit", { n: seconds / 60 });
}

/** Formats bytes in the largest unit that divides them. */
function size(bytes: number): string {
  if (bytes % 2 ** 30 === 0) return `${number(bytes / 2 ** 30)} ${t("gibibytes")}`;
  if (bytes % 2 ** 10 === 0) return `${number(bytes / 2 ** 10)} ${t("kibibytes")}`;
  return t("bytesUnit", { n: bytes });
}

function rate(burst: number, perSecond: number): string {
  return t("rate", { burst: number(burst), perSecond: number(perSecond) });
}
