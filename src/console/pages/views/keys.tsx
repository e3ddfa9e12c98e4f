import { useState } from "preact/hooks";
import { type ApiKey, callApi, type List, type ViewProps } from "../api.js";
import { useLoaded, useTask } from "../hooks.js";
import { date, dateAndTime, t } from "../text/language.js";
import { actionColumn, type Column, DataTable } from "../ui/data-table.js";
import { FormDialog, SecretDialog } from "../ui/dialog.js";
import { Field, useForm } from "../ui/form.js";
import { Button, Empty, PageHead, WhenLoaded } from "../ui/parts.js";

type Open =
  | { readonly type: "create" }
  /** The only place that ever holds a raw key; it is dropped with the dialog. */
  | { readonly type: "created"; readonly rawKey: string }
  | { readonly type: "revoke"; readonly key: ApiKey };

export function Keys({ organization }: ViewProps) {
  const path = `/organizations/${organization.id}/keys`;
  const [keys, reload] = useLoaded<List<ApiKey>>(path);
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => {
    setOpen(null);
    void reload();
  };
  const columns = keyColumns((key) => setOpen({ type: "revoke", key }));
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
              isFaded={({ revoked_at }) => revoked_at !== null}
            />
          )
        }
      </WhenLoaded>
      {open?.type === "create" && (
        <CreateDialog
          path={path}
          onClose={close}
          onCreated={(rawKey) => setOpen({ type: "created", rawKey })}
        />
      )}
      {open?.type === "created" && <CreatedDialog rawKey={open.rawKey} onClose={close} />}
      {open?.type === "revoke" && <RevokeDialog path={path} apiKey={open.key} onClose={close} />}
    </>
  );
}

function keyColumns(revoke: (key: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    {
      id: "name",
      title: t("keyName"),
      isHead: true,
      cell: ({ name, prefix, last_four }) => (
        <>
          {name}
          <span class="below mono">
            {prefix}…{last_four}
          </span>
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
    actionColumn(
      t("revoke"),
      ({ name }) => name,
      revoke,
      ({ revoked_at }) => (revoked_at === null ? undefined : <span class="tag">{t("revoked")}</span>),
    ),
  ];
}

interface DialogProps {
  readonly path: string;
  readonly onClose: () => void;
}

function CreateDialog({
  path,
  onClose,
  onCreated,
}: DialogProps & { readonly onCreated: (rawKey: string) => void }) {
  const { isBusy, problem, run, values, field } = useForm({ name: "" });
  const create = () =>
    void run(async () => onCreated((await callApi<{ readonly key: string }>("POST", path, values)).key));
  return (
    <FormDialog
      title={t("createKey")}
      action={t("createKey")}
      {...{ isBusy, problem, onClose }}
      onSubmit={create}
    >
      <Field {...field("name")} label={t("keyName")} hint={t("keyNameHint")} autocomplete="off" />
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
