import { useState } from "preact/hooks";
import { ask, type Credits, creditsChanged, type LedgerEntry } from "../api.js";
import { useLoaded, useWork } from "../hooks.js";
import { useWords } from "../text/language.js";
import { Button, Field, PageHead, Shown, TableBox, Trouble } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

interface LedgerPage {
  readonly data: readonly LedgerEntry[];
  readonly next: number | null;
}

export function CreditsView({ organization }: ViewProps) {
  const { t, number } = useWords();
  const at = `/organizations/${organization.id}`;
  const [credits, reloadCredits] = useLoaded<Credits>(`${at}/credits`);
  const [ledger, reloadLedger] = useLoaded<LedgerPage>(`${at}/ledger`);
  const changed = () => {
    void reloadCredits();
    void reloadLedger();
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
              <p class={`figure ${available > 0 ? "" : "wrong"}`}>{number(available)}</p>
              <p class="hint">{held > 0 ? t("heldNote", { n: held }) : t("available")}</p>
            </section>
          )}
        </Shown>
        <Redeem at={at} onRedeemed={changed} />
      </div>
      <section>
        <div class="section-head">
          <h2>{t("ledger")}</h2>
          <a class="button plain" href={`/console/api${at}/ledger.csv`} download="ledger.csv">
            {t("exportCsv")}
          </a>
        </div>
        <Shown loaded={ledger} retry={() => void reloadLedger()}>
          {(page) => <Ledger key={page.data[0]?.created_at ?? ""} first={page} at={at} />}
        </Shown>
      </section>
    </>
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

function Ledger({ first, at }: { readonly first: LedgerPage; readonly at: string }) {
  const { t, time, number } = useWords();
  const [pages, setPages] = useState<readonly LedgerPage[]>([first]);
  const { isBusy, problem, run } = useWork();
  const next = pages.at(-1)?.next ?? null;
  const more = () =>
    run(async () => {
      setPages([...pages, await ask<LedgerPage>("GET", `${at}/ledger?before=${next}`)]);
    });
  return (
    <>
      <TableBox label={t("ledger")}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("time")}</th>
              <th scope="col">{t("kind")}</th>
              <th scope="col" class="end">
                {t("amount")}
              </th>
              <th scope="col">{t("requestId")}</th>
              <th scope="col">{t("endpoint")}</th>
              <th scope="col">{t("key")}</th>
            </tr>
          </thead>
          <tbody>
            {pages.flatMap(({ data }, page) =>
              data.map((entry, row) => (
                <tr key={`${page} ${row}`}>
                  <td>{time(entry.created_at)}</td>
                  <td>{t(`kind_${entry.kind}`)}</td>
                  <td class={`end number ${entry.credits > 0 ? "good" : ""}`}>
                    {entry.credits > 0 ? "+" : "−"}
                    {number(Math.abs(entry.credits))}
                  </td>
                  <td class="mono">{entry.request_id}</td>
                  <td class="mono">{entry.endpoint}</td>
                  <td>{entry.key_name ?? (entry.endpoint === null ? "" : t("playgroundKey"))}</td>
                </tr>
              )),
            )}
          </tbody>
        </table>
      </TableBox>
      <Trouble problem={problem} />
      {next !== null && (
        <Button isBusy={isBusy} onClick={() => void more()}>
          {t("more")}
        </Button>
      )}
    </>
  );
}
