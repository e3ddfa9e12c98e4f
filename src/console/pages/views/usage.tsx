import { useState } from "preact/hooks";
import type { Prices, UsageRow } from "../api.js";
import { useLoaded } from "../hooks.js";
import { useWords } from "../text/language.js";
import { DayChart } from "../ui/day-chart.js";
import { Money } from "../ui/money.js";
import { Empty, PageHead, Shown } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

const PERIODS = [7, 30, 90] as const;
const PERIOD_TEXTS = { 7: "days7", 30: "days30", 90: "days90" } as const;
const PLAYGROUND_KEY_ID = "playground";

interface Sum {
  readonly name: string;
  readonly credits: number;
  readonly requests: number;
}

export function Usage({ organization }: ViewProps) {
  const { t } = useWords();
  const [days, setDays] = useState<(typeof PERIODS)[number]>(30);
  const [usage, reload] = useLoaded<{ readonly data: readonly UsageRow[] }>(
    `/organizations/${organization.id}/usage?days=${days}`,
  );
  const [prices] = useLoaded<Prices>("/prices");
  const keyName = ({ key_id, key_name }: UsageRow) =>
    key_name ?? t(key_id === PLAYGROUND_KEY_ID ? "playgroundKey" : "otherKey");
  return (
    <>
      <PageHead title={t("usage")} lead={t("usageLead")}>
        <fieldset class="segments" aria-label={t("period")}>
          {PERIODS.map((period) => (
            <button key={period} type="button" aria-pressed={days === period} onClick={() => setDays(period)}>
              {t(PERIOD_TEXTS[period])}
            </button>
          ))}
        </fieldset>
      </PageHead>
      <Shown loaded={usage} retry={() => void reload()}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("noUsage")} lead={t("noUsageLead")} />
          ) : (
            <>
              <section class="card">
                <div class="section-head">
                  <h2>{t("byDay")}</h2>
                  <p class="total number">
                    {t("creditsUnit", { n: totalOf(data) })}
                    <Money credits={totalOf(data)} prices={prices} />
                  </p>
                </div>
                <DayChart rows={data} days={days} />
              </section>
              <div class="halves">
                <Ranking
                  title={t("byEndpoint")}
                  sums={sumsBy(data, ({ endpoint, kind }) => endpoint ?? t(kind))}
                  isCode
                />
                <Ranking title={t("byKey")} sums={sumsBy(data, keyName)} />
              </div>
            </>
          )
        }
      </Shown>
    </>
  );
}

interface RankingProps {
  readonly title: string;
  readonly sums: readonly Sum[];
  readonly isCode?: boolean;
}

/** Who has used most: a bar, and the numbers beside it. */
function Ranking({ title, sums, isCode = false }: RankingProps) {
  const { t, number } = useWords();
  const top = Math.max(1, ...sums.map(({ credits }) => credits));
  return (
    <section class="card">
      <h2>{title}</h2>
      <table class="ranking">
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">{title}</span>
            </th>
            <th scope="col" class="end">
              {t("requests")}
            </th>
            <th scope="col" class="end">
              {t("amount")}
            </th>
          </tr>
        </thead>
        <tbody>
          {sums.map(({ name, credits, requests }) => (
            <tr key={name}>
              <th scope="row" class={isCode ? "mono" : ""}>
                {name}
                <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                  <rect width={(credits / top) * 100} height="4" />
                </svg>
              </th>
              <td class="end number">{number(requests)}</td>
              <td class="end number">{number(credits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function totalOf(rows: readonly UsageRow[]): number {
  return rows.reduce((sum, { credits }) => sum + credits, 0);
}

function sumsBy(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): readonly Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const name = nameOf(row);
    const { credits = 0, requests = 0 } = sums.get(name) ?? {};
    sums.set(name, { name, credits: credits + row.credits, requests: requests + row.requests });
  }
  return [...sums.values()].sort((one, other) => other.credits - one.credits);
}
