import { useEffect, useState } from "preact/hooks";
import { callApi, type LedgerEntry, type List } from "../api.js";
import { useLoaded, useTask } from "../hooks.js";
import { dateAndTime, number, t } from "../text/language.js";
import { type Column, DataTable } from "../ui/data-table.js";
import { Select } from "../ui/form.js";
import { Button, Empty, ErrorNotice, WhenLoaded } from "../ui/parts.js";

interface LedgerPage extends List<LedgerEntry> {
  readonly next: number | null;
}

interface Filter {
  readonly kind: LedgerEntry["kind"] | "";
  /** Days as date fields write them, in the reader's time zone; empty for no limit. */
  readonly from: string;
  readonly until: string;
}

const EVERYTHING: Filter = { kind: "", from: "", until: "" };
const KINDS: readonly LedgerEntry["kind"][] = ["grant", "topup", "charge", "refund"];

/** The organization's transactions, reloaded when `changes` grows. */
export function Ledger({ at, changes }: { readonly at: string; readonly changes: number }) {
  const [filter, setFilter] = useState(EVERYTHING);
  const query = queryOf(filter);
  const [ledger, reload] = useLoaded<LedgerPage>(`${at}/ledger${query}`);
  useEffect(() => {
    if (changes > 0) void reload();
  }, [changes, reload]);
  return (
    <section>
      <div class="section-head">
        <h2>{t("ledger")}</h2>
        <a class="button plain" href={`/console/api${at}/ledger.csv${query}`} download="ledger.csv">
          {t("exportCsv")}
        </a>
      </div>
      <Filters filter={filter} onChange={setFilter} />
      <WhenLoaded loaded={ledger} retry={reload}>
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
      </WhenLoaded>
    </section>
  );
}

interface FiltersProps {
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}

function Filters({ filter, onChange }: FiltersProps) {
  const dateField = (name: "from" | "until") => (
    <label class="chosen">
      <span>{t(`${name}Day`)}</span>
      <input
        type="date"
        value={filter[name]}
        min={name === "until" ? filter.from : undefined}
        max={name === "from" ? filter.until : undefined}
        onInput={(event) => onChange({ ...filter, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <search class="filters" aria-label={t("filter")}>
      <label class="chosen">
        <span>{t("kind")}</span>
        <Select
          value={filter.kind}
          options={[
            { value: "", text: t("allKinds") },
            ...KINDS.map((kind) => ({ value: kind, text: t(`kind_${kind}`) })),
          ]}
          onChoose={(chosen) => onChange({ ...filter, kind: KINDS.find((kind) => kind === chosen) ?? "" })}
        />
      </label>
      {dateField("from")}
      {dateField("until")}
      {queryOf(filter) !== "" && (
        <Button look="quiet" onClick={() => onChange(EVERYTHING)} text={t("clearFilter")} />
      )}
    </search>
  );
}

/** Writes the filter as a query. Days start and end at midnight in the reader's time zone. */
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
  return query.size === 0 ? "" : `?${query}`;
}

interface EntriesProps {
  readonly first: LedgerPage;
  readonly path: (before: number) => string;
}

function Entries({ first, path }: EntriesProps) {
  const [pages, setPages] = useState<readonly LedgerPage[]>([first]);
  const { isBusy, problem, run } = useTask();
  const columns = entryColumns();
  const next = pages.at(-1)?.next ?? null;
  const more = (before: number) =>
    void run(async () => {
      setPages([...pages, await callApi<LedgerPage>("GET", path(before))]);
    });
  return (
    <>
      <DataTable
        class="ledger"
        label={t("ledger")}
        columns={columns}
        rows={pages.flatMap(({ data }) => data)}
        keyOf={(_, index) => index}
      />
      <ErrorNotice problem={problem} />
      {next !== null && <Button isBusy={isBusy} onClick={() => more(next)} text={t("more")} />}
    </>
  );
}

function entryColumns(): readonly Column<LedgerEntry>[] {
  return [
    {
      id: "kind",
      title: t("kind"),
      isHead: true,
      cell: ({ kind, created_at }) => (
        <>
          {t(`kind_${kind}`)}
          <span class="below">{dateAndTime(created_at)}</span>
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
        <span class={credits > 0 ? "good" : ""}>
          {credits > 0 ? "+" : "−"}
          {number(Math.abs(credits))}
        </span>
      ),
    },
    { id: "balance", title: t("balance"), isEnd: true, cell: ({ balance }) => number(balance) },
  ];
}
