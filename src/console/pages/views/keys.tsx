import { useState } from "preact/hooks";
import { type ApiKey, ask } from "../api.js";
import { useLoaded, useWork } from "../hooks.js";
import { useWords } from "../text/language.js";
import { type Column, DataTable } from "../ui/data-table.js";
import { Button, Dialog, Empty, Field, PageHead, Shown, Trouble } from "../ui/parts.js";
import { SecretDialog } from "../ui/secret-dialog.js";
import type { ViewProps } from "../view-props.js";

type Open =
  | { readonly type: "create" }
  /** The only place where a raw key ever is: it goes with the dialog. */
  | { readonly type: "created"; readonly rawKey: string }
  | { readonly type: "revoke"; readonly key: ApiKey };

export function Keys({ organization }: ViewProps) {
  const { t, date, time } = useWords();
  const path = `/organizations/${organization.id}/keys`;
  const [keys, reload] = useLoaded<{ readonly data: readonly ApiKey[] }>(path);
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => {
    setOpen(null);
    void reload();
  };
  const columns: readonly Column<ApiKey>[] = [
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
      cell: ({ last_used_at }) => (last_used_at === null ? t("never") : time(last_used_at)),
    },
    {
      id: "act",
      title: t("revoke"),
      isTitleHidden: true,
      isEnd: true,
      cell: (key) =>
        key.revoked_at === null ? (
          <Button
            look="quiet"
            onClick={() => setOpen({ type: "revoke", key })}
            label={`${t("revoke")}: ${key.name}`}
          >
            {t("revoke")}
          </Button>
        ) : (
          <span class="tag">{t("revoked")}</span>
        ),
    },
  ];
  const create = (
    <Button look="primary" onClick={() => setOpen({ type: "create" })}>
      {t("createKey")}
    </Button>
  );
  return (
    <>
      <PageHead title={t("keys")} lead={t("keysLead")}>
        {keys.state === "ready" && keys.value.data.length > 0 && create}
      </PageHead>
      <Shown loaded={keys} retry={() => void reload()}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("noKeys")} lead={t("noKeysLead")}>
              {create}
            </Empty>
          ) : (
            <DataTable
              name="keys"
              label={t("keys")}
              columns={columns}
              rows={[...data].reverse()}
              keyOf={({ id }) => id}
              isFaded={({ revoked_at }) => revoked_at !== null}
            />
          )
        }
      </Shown>
      {open?.type === "create" && (
        <CreateDialog
          path={path}
          onClose={close}
          onCreated={(rawKey) => setOpen({ type: "created", rawKey })}
        />
      )}
      {open?.type === "created" && (
        <SecretDialog
          title={t("keyCreated")}
          lead={t("keyCreatedLead")}
          secret={open.rawKey}
          label={t("key")}
          warning={t("keyUncopied")}
          onClose={close}
        />
      )}
      {open?.type === "revoke" && <RevokeDialog path={path} apiKey={open.key} onClose={close} />}
    </>
  );
}

interface CreateProps {
  readonly path: string;
  readonly onClose: () => void;
  readonly onCreated: (rawKey: string) => void;
}

function CreateDialog({ path, onClose, onCreated }: CreateProps) {
  const { t } = useWords();
  const [name, setName] = useState("");
  const { isBusy, problem, run } = useWork();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void run(async () => onCreated((await ask<{ readonly key: string }>("POST", path, { name })).key));
  };
  return (
    <Dialog title={t("createKey")} onClose={onClose}>
      <form onSubmit={submit} noValidate class="stack">
        <Field
          label={t("keyName")}
          name="name"
          hint={t("keyNameHint")}
          value={name}
          onInput={setName}
          autocomplete="off"
        />
        <Trouble problem={problem} />
        <div class="actions">
          <Button onClick={onClose}>{t("cancel")}</Button>
          <Button type="submit" look="primary" isBusy={isBusy}>
            {t("createKey")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface RevokeProps {
  readonly path: string;
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

function RevokeDialog({ path, apiKey, onClose }: RevokeProps) {
  const { t } = useWords();
  const { isBusy, problem, run } = useWork();
  const revoke = () =>
    run(async () => {
      await ask("DELETE", `${path}/${apiKey.id}`);
      onClose();
    });
  return (
    <Dialog title={t("revokeTitle", { name: apiKey.name })} onClose={onClose}>
      <p>{t("revokeLead")}</p>
      <Trouble problem={problem} />
      <div class="actions">
        <Button onClick={onClose}>{t("cancel")}</Button>
        <Button look="danger" isBusy={isBusy} onClick={() => void revoke()}>
          {t("revoke")}
        </Button>
      </div>
    </Dialog>
  );
}
