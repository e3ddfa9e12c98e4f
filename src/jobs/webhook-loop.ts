import type { Log } from "../../core/observe/log.js";
import type { WebhookAttempt, WebhookQueue, WebhookSender } from "../../core/ports/jobs.js";
import { webhookSignature } from "./webhook-signature.js";

export interface WebhookLoopParts {
  readonly queue: WebhookQueue;
  readonly sender: WebhookSender;
  /** Milliseconds since 1970; receivers compare this time with their clocks. */
  readonly nowMs: () => number;
  readonly observer: { sent(outcome: "delivered" | "retried" | "failed"): void };
  readonly log: Log;
}

const POLL_MS = 1_000;
/** Number of webhooks sent concurrently. */
const AT_ONCE = 8;
/** Status with which a receiver says that its endpoint no longer exists. */
const GONE = 410;

/** Sends webhooks that are due. One that is not answered with 2xx is sent again later, with the same ID. */
export class WebhookLoop {
  readonly #parts: WebhookLoopParts;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(parts: WebhookLoopParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#sending = this.#sendDue().finally(() => {
        if (!this.#stopping.signal.aborted) this.start();
      });
    }, POLL_MS).unref();
  }

  /** Aborts webhooks in flight, which are sent again later. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#sending;
  }

  async #sendDue(): Promise<void> {
    try {
      for (;;) {
        const due = await this.#parts.queue.takeWebhooks(AT_ONCE);
        await Promise.all(due.map((attempt) => this.#send(attempt)));
        if (due.length < AT_ONCE || this.#stopping.signal.aborted) return;
      }
    } catch (error) {
      // Webhooks that were taken become due again after a minute.
      this.#parts.log.warn({ err: error }, "webhooks not sent");
    }
  }

  async #send(attempt: WebhookAttempt): Promise<void> {
    const { queue, sender, nowMs, observer, log } = this.#parts;
    const { id, body, secrets, url } = attempt;
    const headers = {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      "dauys-webhook-id": id,
      "dauys-signature": webhookSignature(secrets, Math.floor(nowMs() / 1_000), body),
    };
    let status: number | null = null;
    try {
      status = await sender.post(url, { headers, body }, this.#stopping.signal);
    } catch (error) {
      log.info({ err: error, webhookId: id }, "webhook not answered");
    }
    if (status !== null && status >= 200 && status < 300) {
      await queue.delivered(attempt);
      observer.sent("delivered");
      return;
    }
    const isFinal = status === GONE || attempt.isLast;
    log.info({ webhookId: id, status, isFinal }, "webhook not accepted");
    await queue.undelivered(attempt, isFinal);
    observer.sent(isFinal ? "failed" : "retried");
  }
}
