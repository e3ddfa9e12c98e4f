import { createTransport, type Transporter } from "nodemailer";
import type { Log } from "../../core/observe/log.js";
import type { Mail, Mailer } from "../../core/ports/mailer.js";
import { mailText } from "./texts.js";

export interface SmtpMailerParts {
  /** `smtp://` or `smtps://` URL, including user and password. */
  readonly url: string;
  /** An address, or a name followed by an address in angle brackets. */
  readonly from: string;
  readonly log: Log;
  /** Pauses before the second and later attempts. */
  readonly pausesMs?: readonly number[];
}

/** 42 minutes in all: longer than a mail server takes to restart, shorter than most links are valid. */
const PAUSES_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000];
/** Most messages that are waiting or being sent; beyond it, new ones are dropped. */
const MOST_WAITING = 1_000;
const CONNECT_MS = 10_000;
const SOCKET_MS = 30_000;

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/**
 * Sends mail over SMTP. Messages wait in memory, because they contain links that must not be stored. A
 * restart loses those that the mail server has not accepted.
 */
export class SmtpMailer implements Mailer {
  readonly #parts: SmtpMailerParts;
  readonly #transport: Transporter;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<boolean>>();

  constructor(parts: SmtpMailerParts) {
    this.#parts = parts;
    this.#transport = createTransport({
      ...serverOf(parts.url),
      pool: true,
      maxConnections: 2,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SOCKET_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  send(mail: Mail): Promise<boolean> {
    if (this.#closing.signal.aborted || this.#running.size >= MOST_WAITING) {
      this.#parts.log.error({ type: mail.type }, "mail dropped: too many are waiting");
      return Promise.resolve(false);
    }
    const sending = this.#persist(mail).finally(() => this.#running.delete(sending));
    this.#running.add(sending);
    return sending;
  }

  /** Gives up messages that wait for another attempt, and closes the connections. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
    this.#transport.close();
  }

  async #persist(mail: Mail): Promise<boolean> {
    const { from, log, pausesMs = PAUSES_MS } = this.#parts;
    const { subject, body } = mailText(mail);
    for (let tries = 0; ; tries++) {
      try {
        await this.#transport.sendMail({ from, to: { name: "", address: mail.to }, subject, text: body });
        log.info({ type: mail.type }, "mail sent");
        return true;
      } catch (error) {
        const pauseMs = pausesMs[tries];
        const isFinal = isPermanent(error) || pauseMs === undefined || this.#closing.signal.aborted;
        log[isFinal ? "error" : "warn"]({ err: withoutAddresses(error), type: mail.type }, "mail not sent");
        if (isFinal) return false;
        await this.#pause(pauseMs);
      }
    }
  }

  /** Waits, or returns early if the mailer closes; the next attempt is then the last. */
  #pause(pauseMs: number): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, pauseMs).unref();
      signal.addEventListener("abort", done);
    });
  }
}

/** Reads a server's address. Passwords are sent only over TLS, unless the server is on this machine. */
function serverOf(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "smtps:";
  const host = hostname.replace(/^\[|\]$/g, "");
  const server = { host, port: Number(port || (secure ? 465 : 587)), secure };
  if (username === "") return server;
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  return { ...server, auth, requireTLS: !secure && !LOOPBACK.test(host) };
}

/**
 * Returns whether the mail server rejected the message for good, for example because the mailbox is unknown.
 */
function isPermanent(error: unknown): boolean {
  const { responseCode } = error as { readonly responseCode?: unknown };
  return typeof responseCode === "number" && responseCode >= 500;
}

/** Returns the error's code and status only, because its text may quote addresses. */
function withoutAddresses(error: unknown): object {
  const { code, responseCode, command } = error as Readonly<
    Record<"code" | "responseCode" | "command", unknown>
  >;
  return { code, responseCode, command };
}
