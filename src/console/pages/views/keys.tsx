import { useState } from "preact/hooks";
import { type ApiKey, callApi, type KeyEndpoint, type List, type ViewProps } from "../api.js";
import { useLoaded, useTask } from "../hooks.js";
import { date, dateAndTime, number, t } from "../text/language.js";
import { type Column, DataTable } from "../ui/data-table.js";
import { FormDialog, SecretDialog } from "../ui/dialog.js";
import { Field, Segments, useForm } from "../ui/form.js";
import { ENDPOINTS, LIMIT_FIELDS, LimitFields, limitsBody } from "../ui/key-limits.js";
import { Button, Empty, PageHead, WhenLoaded } from "../ui/parts.js";

type Open =
  | { readonly type: "create" }
  /** The only place that ever holds a raw key; it is dropped with the dialog. */
  | { readonly type: "created"; readonly rawKey: string }
  | { readonly type: "limits" | "rotate" | "revoke"; readonly key: ApiKey };

export function Keys({ organization }: ViewProps) {
  const path = `/organizations/${organization.id}/keys`;
  const [keys, reload] = useLoaded<List<ApiKey>>(path);
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => {
    setOpen(null);
    void reload();
  };
  const columns = keyColumns((type, key) => setOpen({ type, key }));
  const onCreated = (rawKey: string) => setOpen({ type: "created", rawKey });
  const create = <Button look="primary" onClick={() => setOpen({ type: "create" })} text={t("createKey")} />;
  return (
    <>
      <PageHead title={t("keys")} lead={t("keysLead")}>
        {keys.state === "ready" && keys.value.data.length > 0 && create}
      </PageHead>
      <WhenLoaded loaded={keys} retry={reload}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("noKeys")} lead={t("noKeysLead")}>
              {create}
            </Empty>
          ) : (
            <DataTable
              class="keys"
              label={t("keys")}
              columns={columns}
              rows={[...data].reverse()}
              keyOf={({ id }) => id}
              isFaded={(key) => !isActive(key)}
            />
          )
        }
      </WhenLoaded>
      {open?.type === "create" && <CreateDialog path={path} onClose={close} onCreated={onCreated} />}
      {open?.type === "created" && <CreatedDialog rawKey={open.rawKey} onClose={close} />}
      {open?.type === "limits" && <LimitsDialog path={path} apiKey={open.key} onClose={close} />}
      {open?.type === "rotate" && (
        <RotateDialog path={path} apiKey={open.key} onClose={close} onCreated={onCreated} />
      )}
      {open?.type === "revoke" && <RevokeDialog path={path} apiKey={open.key} onClose={close} />}
    </>
  );
}

type Act = "limits" | "rotate" | "revoke";

function isActive({ revoked_at, expires_at }: ApiKey): boolean {
  return revoked_at === null && (expires_at === null || Date.parse(expires_at) > Date.now());
}

function keyColumns(act: (type: Act, key: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    {
      id: "name",
      title: t("keyName"),
      isHead: true,
      cell: ({ name, prefix, last_four, previous_secret_until: until }) => (
        <>
          {name}
          <span class="below mono">
            {prefix}…{last_four}
          </span>
          {until !== null && <span class="below">{t("rotatedUntil", { date: dateAndTime(until) })}</span>}
        </>
      ),
    },
    {
      id: "created",
      title: t("created"),
      cell: ({ created_at, created_by }) => (
        <>
          {date(created_at)}
          <span class="below">{created_by?.email ?? "–"}</span>
        </>
      ),
    },
    {
      id: "used",
      title: t("lastUsed"),
      cell: ({ last_used_at }) => (last_used_at === null ? t("never") : dateAndTime(last_used_at)),
    },
    { id: "month", title: t("keyMonth"), cell: (key) => <MonthAndLimits apiKey={key} /> },
    {
      id: "act",
      title: t("keyLimits"),
      isTitleHidden: true,
      isEnd: true,
      cell: (key) => <KeyActions apiKey={key} act={act} />,
    },
  ];
}

function MonthAndLimits({ apiKey: { usage, monthly_credits: cap, endpoints, expires_at } }: KeyProps) {
  const { credits, held } = usage[0] ?? { credits: 0, held: 0 };
  const used = credits + held;
  const limits = [
    ...(endpoints === null ? [] : [endpoints.map((name) => t(ENDPOINTS[name])).join(", ")]),
    ...(expires_at === null ? [] : [t("keyUntil", { date: date(expires_at) })]),
  ];
  return (
    <>
      {cap === null ? number(used) : t("keyMonthOf", { used, cap })}
      {limits.map((text) => (
        <span key={text} class="below">
          {text}
        </span>
      ))}
    </>
  );
}

interface KeyProps {
  readonly apiKey: ApiKey;
}

function KeyActions({ apiKey, act }: KeyProps & { readonly act: (type: Act, key: ApiKey) => void }) {
  if (apiKey.revoked_at !== null) return <span class="tag">{t("revoked")}</span>;
  const button = (type: Act, text: string) => (
    <Button look="quiet" text={text} label={`${text}: ${apiKey.name}`} onClick={() => act(type, apiKey)} />
  );
  return (
    <>
      {!isActive(apiKey) && <span class="tag">{t("keyExpired")}</span>}
      {button("limits", t("keyLimits"))}
      {isActive(apiKey) && button("rotate", t("rotate"))}
      {button("revoke", t("revoke"))}
    </>
  );
}

interface DialogProps {
  readonly path: string;
  readonly onClose: () => void;
}

type Made = { readonly key: string };

function CreateDialog({
  path,
  onClose,
  onCreated,
}: DialogProps & { readonly onCreated: (rawKey: string) => void }) {
  const { isBusy, problem, run, values, field } = useForm(
    { name: "", monthly_credits: "", expires_at: "" },
    LIMIT_FIELDS,
  );
  const [endpoints, setEndpoints] = useState<readonly KeyEndpoint[]>([]);
  const create = () =>
    void run(async () => {
      const limits = limitsBody(values, endpoints);
      onCreated((await callApi<Made>("POST", path, { name: values.name, ...limits })).key);
    });
  return (
    <FormDialog
      title={t("createKey")}
      action={t("createKey")}
      {...{ isBusy, problem, onClose }}
      onSubmit={create}
    >
      <Field {...field("name")} label={t("keyName")} hint={t("keyNameHint")} autocomplete="off" />
      <LimitFields {...{ field, endpoints, setEndpoints }} />
    </FormDialog>
  );
}

function LimitsDialog({ path, apiKey, onClose }: DialogProps & KeyProps) {
  const { isBusy, problem, run, values, field } = useForm(
    {
      monthly_credits: apiKey.monthly_credits?.toString() ?? "",
      expires_at: apiKey.expires_at?.slice(0, 10) ?? "",
    },
    LIMIT_FIELDS,
  );
  const [endpoints, setEndpoints] = useState<readonly KeyEndpoint[]>(apiKey.endpoints ?? []);
  const save = () =>
    void run(async () => {
      const { expires_at, ...limits } = limitsBody(values, endpoints);
      // A date that was not changed keeps its time of day.
      const isSame = values.expires_at === (apiKey.expires_at?.slice(0, 10) ?? "");
      await callApi("PATCH", `${path}/${apiKey.id}`, { ...limits, ...(!isSame && { expires_at }) });
      onClose();
    });
  return (
    <FormDialog
      title={t("keyLimitsTitle", { name: apiKey.name })}
      action={t("save")}
      {...{ isBusy, problem, onClose }}
      onSubmit={save}
    >
      <p>{t("keyLimitsLead")}</p>
      <LimitFields {...{ field, endpoints, setEndpoints }} />
    </FormDialog>
  );
}

const OVERLAPS = {
  0: "overlapNow",
  3600: "overlapHour",
  86400: "overlapDay",
  604800: "overlapWeek",
} as const;
type Overlap = keyof typeof OVERLAPS;

function RotateDialog({
  path,
  apiKey,
  onClose,
  onCreated,
}: DialogProps & KeyProps & { readonly onCreated: (rawKey: string) => void }) {
  const { isBusy, problem, run } = useTask();
  const [overlap, setOverlap] = useState<Overlap>(86400);
  const rotate = () =>
    void run(async () => {
      const body = { overlap_seconds: overlap };
      onCreated((await callApi<Made>("POST", `${path}/${apiKey.id}/rotate`, body)).key);
    });
  return (
    <FormDialog
      title={t("rotateTitle", { name: apiKey.name })}
      action={t("rotate")}
      {...{ isBusy, problem, onClose }}
      onSubmit={rotate}
    >
      <p>{t("rotateLead")}</p>
      <Segments
        label={t("rotateOverlap")}
        values={[0, 3600, 86400, 604800] as const}
        chosen={overlap}
        textOf={(value) => t(OVERLAPS[value])}
        onChoose={setOverlap}
      />
    </FormDialog>
  );
}

function CreatedDialog({ rawKey, onClose }: { readonly rawKey: string; readonly onClose: () => void }) {
  return (
    <SecretDialog
      title={t("keyCreated")}
      lead={t("keyCreatedLead")}
      secret={rawKey}
      label={t("key")}
      warning={t("keyUncopied")}
      onClose={onClose}
    />
  );
}

function RevokeDialog({ path, apiKey, onClose }: DialogProps & { readonly apiKey: ApiKey }) {
  const { isBusy, problem, run } = useTask();
  const revoke = () =>
    void run(async () => {
      await callApi("DELETE", `${path}/${apiKey.id}`);
      onClose();
    });
  return (
    <FormDialog
      title={t("revokeTitle", { name: apiKey.name })}
      action={t("revoke")}
      look="danger"
      {...{ isBusy, problem, onClose }}
      onSubmit={revoke}
    >
      <p>{t("revokeLead")}</p>
    </FormDialog>
  );
}
