import type { Log } from "../../core/observe/log.js";
import type { Mailer } from "../../core/ports/mailer.js";
import { SmtpMailer } from "../mail/smtp-mailer.js";
import type { Config } from "../settings/settings.js";
import type { LowBalances } from "../store/accounts/low-balances.js";
import type { Owned } from "./base.js";
import { type Repeat, repeatAlone } from "./watch-endings.js";

const LOW_BALANCES_EVERY_MS = 60_000;

/** The mailer, and the base address of links; null without a mail server. */
export interface Mailing {
  readonly mailer: Mailer;
  /** URL without a trailing slash. */
  readonly publicUrl: string;
}

/** Opens the connection to the mail server, if one is configured. */
export function openMail({ smtpUrl, mailFrom, publicUrl }: Config, log: Log, owned: Owned): Mailing | null {
  if (smtpUrl === null || mailFrom === null || publicUrl === null) return null;
  const mailer = new SmtpMailer({ url: smtpUrl, from: mailFrom, log });
  owned.add("mail", () => mailer.close());
  return { mailer, publicUrl: publicUrl.replace(/\/$/, "") };
}

/**
 * Checks once a minute for organizations with a low balance, and warns their owners once until it has
 * recovered.
 * @returns a function that stops the checks
 */
export function warnOfLowBalances(parts: {
  readonly lowBalances: Pick<LowBalances, "claim" | "release">;
  readonly mailing: Mailing;
  readonly limitCredits: number;
  readonly repeat: Repeat;
  readonly log: Log;
}): () => void {
  const { lowBalances, mailing, limitCredits, log } = parts;
  const { mailer, publicUrl } = mailing;
  const look = async () => {
    for (const { organizationId, name, available, owners } of await lowBalances.claim(limitCredits)) {
      const common = { type: "low-balance", organization: name, available } as const;
      const url = `${publicUrl}/console/credits`;
      const sent = owners.map((to) => mailer.send({ ...common, to, language: null, url }));
      void Promise.all(sent)
        .then(async (outcomes) => {
          if (!outcomes.includes(true)) await lowBalances.release(organizationId);
        })
        .catch((error: unknown) =>
          log.warn({ err: error }, "could not release the warning of a low balance"),
        );
    }
  };
  return repeatAlone(parts, look, { everyMs: LOW_BALANCES_EVERY_MS, name: "check for low balances" });
}
