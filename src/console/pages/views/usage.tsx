import { useState } from "preact/hooks";
import type { List, Prices, UsageRow, ViewProps } from "../api.js";
import { useLoaded } from "../hooks.js";
import { number, t } from "../text/language.js";
import { Money } from "../ui/cost.js";
import { type Column, Table } from "../ui/data-table.js";
import { DayChart } from "../ui/day-chart.js";
import { Segments } from "../ui/form.js";
import { Empty, PageHead, WhenLoaded } from "../ui/parts.js";

const PERIODS = [7, 30, 90] as const;
const PLAYGROUND_KEY_ID = "playground";

interface Sum {
  readonly name: string;
  readonly credits: number;
  readonly requests: number;
}

export function Usage({ organization }: ViewProps) {
  const [days, setDays] = useState<(typeof PERIODS)[number]>(30);
  const [usage, reload] = useLoaded<List<UsageRow>>(`/organizations/${organization.id}/usage?days=${days}`);
  const [prices] = useLoaded<Prices>("/prices");
  const keyName = ({ key_id, key_name }: UsageRow) =>
    key_name ?? t(key_id === PLAYGROUND_KEY_ID ? "playgroundKey" : "otherKey");
  return (
    <>
      <PageHead title={t("usage")} lead={t("usageLead")}>
        <Segments
          label={t("period")}
          values={PERIODS}
          chosen={days}
          textOf={(period) => t("daysUnit", { n: period })}
          onChoose={setDays}
        />
      </PageHead>
      <WhenLoaded loaded={usage} retry={reload}>
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
      </WhenLoaded>
    </>
  );
}

interface RankingProps {
  readonly title: string;
  readonly sums: readonly Sum[];
  readonly isCode?: boolean;
}

/** Lists the largest consumers first, each with a bar. */
function Ranking({ title, sums, isCode = false }: RankingProps) {
  const top = Math.max(1, ...sums.map(({ credits }) => credits));
  const columns: readonly Column<Sum>[] = [
    {
      id: "name",
      title,
      isTitleHidden: true,
      isHead: true,
      cell: ({ name, credits }) => (
        <>
          <span class={isCode ? "mono" : ""}>{name}</span>
          <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect width={(credits / top) * 100} height="4" />
          </svg>
        </>
      ),
    },
    { id: "requests", title: t("requests"), isEnd: true, cell: ({ requests }) => number(requests) },
    { id: "credits", title: t("amount"), isEnd: true, cell: ({ credits }) => number(credits) },
  ];
  return (
    <section class="card">
      <h2>{title}</h2>
      <Table class="ranking" columns={columns} rows={sums} keyOf={({ name }) => name} />
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
