import { useEffect, useState } from "preact/hooks";
import { moneyFor } from "../../../../core/domain/usage/credit-price.js";
import { ask, type Credits, creditsChanged, type LedgerEntry, type Prices } from "../api.js";
import { useLoaded, useWork } from "../hooks.js";
import { useWords } from "../text/language.js";
import { Contact } from "../ui/contact.js";
import { type Column, DataTable } from "../ui/data-table.js";
import { Money } from "../ui/money.js";
import { Button, CopyText, Empty, Field, PageHead, Shown, Trouble } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

/** What prices are told for beside the smallest amount: about a page, and an hour. */
const CHARACTERS = 1_000;
const HOUR_S = 3_600;

interface LedgerPage {
  readonly data: readonly LedgerEntry[];
  readonly next: number | null;
}

export function CreditsView({ organization }: ViewProps) {
  const { t, number } = useWords();
  const at = `/organizations/${organization.id}`;
  const [credits, reloadCredits] = useLoaded<Credits>(`${at}/credits`);
  const [prices, reloadPrices] = useLoaded<Prices>("/prices");
  const [changes, setChanges] = useState(0);
  const changed = () => {
    void reloadCredits();
    setChanges(changes + 1);
    creditsChanged.dispatchEvent(new Event("changed"));
  };
  return (
    <>
      <PageHead title={t("credits")} lead={t("creditsLead")} />
      <div class="halves">
        <Shown loaded={credits} retry={() => void reloadCredits()}>
          {({ available, held }) => (
            <section class="card">
              <h2>{t("balance")}</h2>
              <p class={`figure ${available > 0 ? "" : "wrong"}`}>
                {number(available)}
                <Money credits={available} prices={prices} />
              </p>
              <p class="hint">{held > 0 ? t("heldNote", { n: held }) : t("available")}</p>
            </section>
          )}
        </Shown>
        <Redeem at={at} onRedeemed={changed} />
      </div>
      <Shown loaded={prices} retry={() => void reloadPrices()}>
        {(found) => (
          <div class="halves">
            <PriceList prices={found} />
            <MoreCredits prices={found} organizationId={organization.id} />
          </div>
        )}
      </Shown>
      <Ledger at={at} changes={changes} />
    </>
  );
}

/** Prices by the service's own settings, in credits, and in money where the operator names a price. */
function PriceList({ prices }: { readonly prices: Prices }) {
  const { t, number, money } = useWords();
  const { tariffs, credit_price: price } = prices;
  const priceOf = (kind: keyof Prices["tariffs"], units: number) => {
    const { credits, per_units: perUnits } = tariffs[kind];
    const cost = (units * credits) / perUnits;
    return price === null
      ? t("creditsUnit", { n: Math.ceil(cost) })
      : money(moneyFor(cost, price), price.currency);
  };
  const { credits, per_units: perUnits } = tariffs.synthesis;
  const perSecond = (kind: "file" | "live") =>
    t("perSecond", { credits: number(tariffs[kind].credits / tariffs[kind].per_units, 3) });
  return (
    <section class="card">
      <h2>{t("prices")}</h2>
      <table class="limits">
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">{t("kind")}</span>
            </th>
            <th scope="col">{t("amount")}</th>
            <th scope="col" class="end">
              {t(price === null ? "forExample" : "inMoney")}
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">{t("synthesis")}</th>
            <td class="number">{t("perCharacters", { credits: number(credits), n: perUnits })}</td>
            <td class="end number">
              {priceOf("synthesis", CHARACTERS)}
              <span class="below">{t("charactersUnit", { n: CHARACTERS })}</span>
            </td>
          </tr>
          {(["file", "live"] as const).map((kind) => (
            <tr key={kind}>
              <th scope="row">{t(kind)}</th>
              <td class="number">{perSecond(kind)}</td>
              <td class="end number">
                {priceOf(kind, HOUR_S)}
                <span class="below">{t("hoursUnit", { n: 1 })}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Credits come by voucher, and vouchers from the operator. */
function MoreCredits({
  prices,
  organizationId,
}: {
  readonly prices: Prices;
  readonly organizationId: string;
}) {
  const { t, number, money } = useWords();
  const { contact, credit_price: price } = prices;
  return (
    <section class="card stack tight">
      <h2>{t("moreCredits")}</h2>
      <p>
        {price === null
          ? t("noPrice")
          : t("priceOfCredits", {
              money: money(price.amount, price.currency),
              credits: number(price.credits),
            })}
      </p>
      <p>{t("askOperator")}</p>
      {contact !== null && (
        <p>
          <Contact address={contact} />
        </p>
      )}
      <h3>{t("organizationId")}</h3>
      <CopyText text={organizationId} label={t("organizationId")} />
    </section>
  );
}

function Redeem({ at, onRedeemed }: { readonly at: string; readonly onRedeemed: () => void }) {
  const words = useWords();
  const [code, setCode] = useState("");
  const [credits, setCredits] = useState<number | null>(null);
  const { isBusy, problem, run } = useWork();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setCredits(null);
    void run(async () => {
      setCredits((await ask<{ readonly credits: number }>("POST", `${at}/vouchers`, { code })).credits);
      setCode("");
      onRedeemed();
    });
  };
  const isField = problem?.code === "voucher_invalid";
  return (
    <section class="card">
      <form onSubmit={submit} noValidate class="stack">
        <div class="inline">
          <Field
            label={words.t("voucher")}
            name="code"
            value={code}
            onInput={setCode}
            autocomplete="off"
            hint={words.t("voucherLead")}
            error={isField ? words.problem("voucher_invalid", null) : undefined}
          />
          <Button type="submit" isBusy={isBusy}>
            {words.t("redeem")}
          </Button>
        </div>
        {!isField && <Trouble problem={problem} />}
        <p role="status" class="good">
          {credits === null ? "" : words.t("redeemed", { n: credits })}
        </p>
      </form>
    </section>
  );
}

interface Filter {
  readonly kind: LedgerEntry["kind"] | "";
  /** Days as calendar fields write them, in the reader's own time; empty is any. */
  readonly from: string;
  readonly until: string;
}

const EVERYTHING: Filter = { kind: "", from: "", until: "" };
const KINDS: readonly LedgerEntry["kind"][] = ["grant", "topup", "charge", "refund"];

function Ledger({ at, changes }: { readonly at: string; readonly changes: number }) {
  const { t } = useWords();
  const [filter, setFilter] = useState(EVERYTHING);
  const query = queryOf(filter);
  const isFiltered = query !== "";
  const [ledger, reload] = useLoaded<LedgerPage>(`${at}/ledger${query}`);
  useEffect(() => {
    if (changes > 0) void reload();
  }, [changes, reload]);
  const field = (name: "from" | "until") => (
    <label class="chosen">
      <span>{t(name === "from" ? "fromDay" : "untilDay")}</span>
      <input
        type="date"
        value={filter[name]}
        min={name === "until" ? filter.from : undefined}
        max={name === "from" ? filter.until : undefined}
        onInput={(event) => setFilter({ ...filter, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <section>
      <div class="section-head">
        <h2>{t("ledger")}</h2>
        <a class="button plain" href={`/console/api${at}/ledger.csv${query}`} download="ledger.csv">
          {t("exportCsv")}
        </a>
      </div>
      <search class="filters" aria-label={t("filter")}>
        <label class="chosen">
          <span>{t("kind")}</span>
          <select
            value={filter.kind}
            onChange={({ currentTarget: { value } }) =>
              setFilter({ ...filter, kind: KINDS.find((kind) => kind === value) ?? "" })
            }
          >
            <option value="">{t("allKinds")}</option>
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {t(`kind_${kind}`)}
              </option>
            ))}
          </select>
        </label>
        {field("from")}
        {field("until")}
        {isFiltered && (
          <Button look="quiet" onClick={() => setFilter(EVERYTHING)}>
            {t("clearFilter")}
          </Button>
        )}
      </search>
      <Shown loaded={ledger} retry={() => void reload()}>
        {(page) =>
          page.data.length === 0 ? (
            <Empty title={t("noEntries")} lead={t("noEntriesLead")} />
          ) : (
            <Entries
              key={`${query} ${page.data[0]?.created_at} ${page.data.length}`}
              first={page}
              path={(before) => `${at}/ledger${query === "" ? "?" : `${query}&`}before=${before}`}
            />
          )
        }
      </Shown>
    </section>
  );
}

/** The days of the filter begin and end at the reader's midnight. */
function queryOf({ kind, from, until }: Filter): string {
  const query = new URLSearchParams();
  if (kind !== "") query.set("kind", kind);
  const first = new Date(`${from}T00:00`);
  if (!Number.isNaN(first.getTime())) query.set("from", first.toISOString());
  const last = new Date(`${until}T00:00`);
  if (!Number.isNaN(last.getTime())) {
    last.setDate(last.getDate() + 1);
    query.set("until", last.toISOString());
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

interface EntriesProps {
  readonly first: LedgerPage;
  readonly path: (before: number) => string;
}

function Entries({ first, path }: EntriesProps) {
  const { t, time, number } = useWords();
  const [pages, setPages] = useState<readonly LedgerPage[]>([first]);
  const { isBusy, problem, run } = useWork();
  const next = pages.at(-1)?.next ?? null;
  const more = (before: number) =>
    run(async () => {
      setPages([...pages, await ask<LedgerPage>("GET", path(before))]);
    });
  const columns: readonly Column<LedgerEntry>[] = [
    {
      id: "kind",
      title: t("kind"),
      isHead: true,
      cell: ({ kind, created_at }) => (
        <>
          {t(`kind_${kind}`)}
          <span class="below">{time(created_at)}</span>
        </>
      ),
    },
    {
      id: "work",
      title: t("endpoint"),
      cell: ({ endpoint, key_name }) =>
        endpoint !== null && (
          <>
            <span class="mono">{endpoint}</span>
            <span class="below">{key_name ?? t("playgroundKey")}</span>
          </>
        ),
    },
    {
      id: "request",
      title: t("requestId"),
      cell: ({ request_id }) => request_id !== null && <span class="mono">{request_id}</span>,
    },
    {
      id: "amount",
      title: t("amount"),
      isEnd: true,
      cell: ({ credits }) => (
        <span class={`number ${credits > 0 ? "good" : ""}`}>
          {credits > 0 ? "+" : "−"}
          {number(Math.abs(credits))}
        </span>
      ),
    },
    {
      id: "balance",
      title: t("balance"),
      isEnd: true,
      cell: ({ balance }) => <span class="number">{number(balance)}</span>,
    },
  ];
  return (
    <>
      <DataTable
        name="ledger"
        label={t("ledger")}
        columns={columns}
        rows={pages.flatMap(({ data }) => data)}
        keyOf={(_, index) => String(index)}
      />
      <Trouble problem={problem} />
      {next !== null && (
        <Button isBusy={isBusy} onClick={() => void more(next)}>
          {t("more")}
        </Button>
      )}
    </>
  );
}
