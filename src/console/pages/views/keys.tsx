import { useState } from "preact/hooks";
import { type ApiKey, ask } from "../api.js";
import { useLoaded, useWork } from "../hooks.js";
import { useWords } from "../text/language.js";
import { Button, CopyText, Dialog, Empty, Field, PageHead, Shown, TableBox, Trouble } from "../ui/parts.js";
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
            <TableBox label={t("keys")}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">{t("keyName")}</th>
                    <th scope="col">{t("key")}</th>
                    <th scope="col">{t("created")}</th>
                    <th scope="col">{t("madeBy")}</th>
                    <th scope="col">{t("lastUsed")}</th>
                    <th scope="col">
                      <span class="hidden">{t("revoke")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {[...data].reverse().map((key) => (
                    <tr key={key.id} class={key.revoked_at === null ? "" : "faded"}>
                      <th scope="row">{key.name}</th>
                      <td class="mono">
                        {key.prefix}…{key.last_four}
                      </td>
                      <td>{date(key.created_at)}</td>
                      <td>{key.created_by?.email ?? "–"}</td>
                      <td>{key.last_used_at === null ? t("never") : time(key.last_used_at)}</td>
                      <td class="end">
                        {key.revoked_at === null ? (
                          <Button look="quiet" onClick={() => setOpen({ type: "revoke", key })}>
                            {t("revoke")}
                          </Button>
                        ) : (
                          <span class="tag">{t("revoked")}</span>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableBox>
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
        <Dialog title={t("keyCreated")} onClose={close} mustDecide>
          <p>{t("keyCreatedLead")}</p>
          <CopyText text={open.rawKey} label={t("key")} />
          <div class="actions">
            <Button look="primary" onClick={close}>
              {t("keyDone")}
            </Button>
          </div>
        </Dialog>
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
