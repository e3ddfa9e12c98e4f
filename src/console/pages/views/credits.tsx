import { useState } from "preact/hooks";
import { moneyFor } from "../../../../core/domain/usage/credit-price.js";
import { type Credits, callApi, creditsChanged, type Prices, type UsageRow, type ViewProps } from "../api.js";
import { useLoaded } from "../hooks.js";
import { money, number, t } from "../text/language.js";
import { CopyText } from "../ui/copy.js";
import { Money } from "../ui/cost.js";
import { type Column, Table } from "../ui/data-table.js";
import { Field, Form, useForm } from "../ui/form.js";
import { Button, Contact, ErrorNotice, PageHead, WhenLoaded } from "../ui/parts.js";
import { Ledger } from "./ledger.js";

/** Amounts for which prices are shown as examples: about a page of text, and an hour of audio. */
const CHARACTERS = 1_000;
const HOUR_S = 3_600;

export function CreditsView({ organization }: ViewProps) {
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
        <WhenLoaded loaded={credits} retry={reloadCredits}>
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
        </WhenLoaded>
        <Redeem at={at} onRedeemed={changed} />
      </div>
      <WhenLoaded loaded={prices} retry={reloadPrices}>
        {(found) => (
          <div class="halves">
            <PriceList prices={found} />
            <MoreCredits prices={found} organizationId={organization.id} />
          </div>
        )}
      </WhenLoaded>
      <Ledger at={at} changes={changes} />
    </>
  );
}

interface PriceRow {
  readonly kind: UsageRow["kind"];
  readonly price: string;
  /** The amount of work for which an example is shown. */
  readonly units: number;
  readonly amount: string;
}

/** The service's prices in credits, with examples in money if the operator has set a price. */
function PriceList({ prices: { tariffs, credit_price: price } }: { readonly prices: Prices }) {
  const exampleOf = ({ kind, units }: PriceRow) => {
    const cost = (units * tariffs[kind].credits) / tariffs[kind].per_units;
    return price === null
      ? t("creditsUnit", { n: Math.ceil(cost) })
      : money(moneyFor(cost, price), price.currency);
  };
  const perHour = (kind: "file" | "live"): PriceRow => ({
    kind,
    price: t("perSecond", { credits: number(tariffs[kind].credits / tariffs[kind].per_units, 3) }),
    units: HOUR_S,
    amount: t("hoursUnit", { n: 1 }),
  });
  const { credits, per_units: perUnits } = tariffs.synthesis;
  const rows: readonly PriceRow[] = [
    {
      kind: "synthesis",
      price: t("perCharacters", { credits: number(credits), n: perUnits }),
      units: CHARACTERS,
      amount: t("charactersUnit", { n: CHARACTERS }),
    },
    perHour("file"),
    perHour("live"),
  ];
  const columns: readonly Column<PriceRow>[] = [
    {
      id: "kind",
      title: t("kind"),
      isTitleHidden: true,
      isHead: true,
      cell: ({ kind }) => t(`work_${kind}`),
    },
    { id: "price", title: t("amount"), cell: (row) => row.price },
    {
      id: "example",
      title: t(price === null ? "forExample" : "inMoney"),
      isEnd: true,
      cell: (row) => (
        <>
          {exampleOf(row)}
          <span class="below">{row.amount}</span>
        </>
      ),
    },
  ];
  return (
    <section class="card">
      <h2>{t("prices")}</h2>
      <Table class="limits" columns={columns} rows={rows} keyOf={({ kind }) => kind} />
    </section>
  );
}

interface MoreCreditsProps {
  readonly prices: Prices;
  readonly organizationId: string;
}

/** Explains how to get credits: with a voucher from the operator. */
function MoreCredits({ prices: { contact, credit_price: price }, organizationId }: MoreCreditsProps) {
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
  const [credits, setCredits] = useState<number | null>(null);
  const form = useForm({ code: "" }, { voucher_invalid: "code" });
  const submit = () => {
    setCredits(null);
    void form.run(async () => {
      const path = `${at}/vouchers`;
      setCredits((await callApi<{ readonly credits: number }>("POST", path, form.values)).credits);
      form.clear();
      onRedeemed();
    });
  };
  return (
    <section class="card">
      <Form onSubmit={submit}>
        <div class="inline">
          <Field {...form.field("code")} label={t("voucher")} autocomplete="off" hint={t("voucherLead")} />
          <Button type="submit" isBusy={form.isBusy} text={t("redeem")} />
        </div>
        <ErrorNotice problem={form.problem} />
        <p role="status" class="good">
          {credits === null ? "" : t("redeemed", { n: credits })}
        </p>
      </Form>
    </section>
  );
}
