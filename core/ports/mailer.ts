export const MAIL_LANGUAGES = ["kk", "ru", "en"] as const;

export type MailLanguage = (typeof MAIL_LANGUAGES)[number];

/** A message to one address. */
export type Mail = {
  readonly to: string;
  /** Null if the reader's language is unknown: the message then contains all of them. */
  readonly language: MailLanguage | null;
} & (
  | {
      readonly type: "invitation";
      readonly organization: string;
      /** Address of the owner who invites. */
      readonly inviter: string;
      readonly url: string;
      readonly expiresAt: Date;
    }
  | { readonly type: "password-reset"; readonly url: string; readonly expiresAt: Date }
  | {
      readonly type: "low-balance";
      readonly organization: string;
      /** Credits left. */
      readonly available: number;
      readonly url: string;
    }
);

/** Sends e-mail. */
export interface Mailer {
  /**
   * Queues a message, and retries it while the mail server is unavailable. Callers do not wait.
   * @returns whether the mail server accepted it; never rejects
   */
  send(mail: Mail): Promise<boolean>;
}
