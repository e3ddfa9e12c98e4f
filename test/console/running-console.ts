import assert from "node:assert/strict";
import { CONCURRENCY_LIMITS } from "../../core/domain/usage/concurrency.js";
import { DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";
import type { Mailer } from "../../core/ports/mailer.js";
import { consoleApi, consoleRoutes } from "../../src/console/server/api.js";
import { pageRoutes } from "../../src/console/server/pages-routes.js";
import type { ConsoleDeps, ConsoleRoute } from "../../src/console/server/route.js";
import type { ServiceFacts } from "../../src/console/server/service-facts.js";
import { LIVE_MESSAGE_LIMITS } from "../../src/front/shared/live-messages.js";
import { TrustedProxies } from "../../src/http/client-address.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import { TemporaryKeys } from "../../src/http/signed-credentials.js";
import { openStore, type Store } from "../../src/store/store.js";
import { startTransport } from "../http/running-transport.js";
import { privateStore } from "../store/support.js";
import { CHEAP_PASSWORDS } from "../support/cheap-passwords.js";
import { ManualClock } from "../support/manual-clock.js";
import { preparedFolder } from "../support/prepared-database.js";
import { SILENT } from "../support/silent-log.js";

export const PUBLIC_URL = "https://speech.example.org";
export const PASSWORD = "correct horse battery";

/** What the console states about a service with default settings, a price and a contact. */
const FACTS: ServiceFacts = {
  serve: ["synthesis", "transcription", "live"],
  tariffs: DEFAULT_TARIFFS,
  creditPrice: { amount: 1, credits: 25_000, currency: "USD" },
  contact: "operator@example.org",
  concurrency: CONCURRENCY_LIMITS,
  longestFileSeconds: 7_200,
  liveMessages: LIVE_MESSAGE_LIMITS,
  modelIdleMs: 900_000,
  status: async () => ({
    isReady: true,
    engines: [{ kind: "live", model: "svc-kk-ru-v2", state: "loading", loadMs: 1_900 }],
    models: [{ name: "svc-kk-ru-v2", task: "transcription", lang: "kk-ru", notes: null, isDefault: true }],
    broken: ["damaged"],
  }),
};

export interface VisitorAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of many answers
  readonly json: any;
}

/** A user with a browser: keeps the cookie, and sends the origin of its page. */
export class Visitor {
  readonly #base: string;
  cookie = "";
  lastSetCookie = "";

  constructor(base: string) {
    this.#base = base;
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<VisitorAnswer> {
    const answer = await fetch(`${this.#base}/console/api${path}`, {
      method,
      headers: {
        origin: this.#base,
        ...(this.cookie !== "" && { cookie: this.cookie }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const setCookie = answer.headers.get("set-cookie");
    if (setCookie !== null) {
      this.lastSetCookie = setCookie;
      this.cookie = setCookie.split(";")[0] ?? "";
    }
    const text = await answer.text();
    const isJson = answer.headers.get("content-type") === "application/json";
    return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : null };
  }

  /** Signs up. Returns the organization's ID. */
  async signUp(email: string, more: object = { organization: "Acme" }): Promise<string> {
    const { status, json, text } = await this.ask("POST", "/sign-up", { email, password: PASSWORD, ...more });
    if (status !== 201) throw new Error(`sign-up of ${email} was rejected: ${text}`);
    return json.organizations[0].id;
  }
}

export interface RunningConsole {
  readonly base: string;
  readonly store: Store;
  readonly clock: ManualClock;
  readonly temporaryKeys: TemporaryKeys;
  readonly routes: readonly ConsoleRoute[];
  readonly logLines: readonly string[];
  visitor(): Visitor;
  stop(): Promise<void>;
}

/** Starts the console with a real database, but without speech engines. */
export async function startConsole(
  trustedProxies: readonly string[] = [],
  mailer: Mailer | null = null,
): Promise<RunningConsole> {
  const clock = new ManualClock();
  const store = await openStore(privateStore(await preparedFolder()), SILENT, { clock });
  const endings = new KeyEndings();
  const temporaryKeys = new TemporaryKeys({
    keys: store.keys,
    secret: store.secretFor("playground keys"),
    sharedClock: store.sharedClock,
    clock,
    places: store.places,
    endings,
  });
  const deps: ConsoleDeps = {
    store: store.console,
    topUps: store.vouchers,
    mailing: mailer === null ? null : { mailer, publicUrl: PUBLIC_URL, resets: store.passwordResets },
    temporaryKeys,
    endings,
    proxies: new TrustedProxies(trustedProxies),
    facts: FACTS,
    passwordCost: CHEAP_PASSWORDS,
    clock,
    log: SILENT,
  };
  const running = await startTransport("node", {
    keys: temporaryKeys,
    endings,
    reports: store.accountReports,
    extraRoutes: [...consoleApi(deps), ...pageRoutes()],
  });
  const { base, logLines } = running;
  return {
    base,
    store,
    clock,
    temporaryKeys,
    logLines,
    routes: consoleRoutes(deps),
    visitor: () => new Visitor(base),
    stop: async () => {
      await running.stop();
      await store.close();
    },
  };
}

/** Checks a log that has requests of `visitor`, who signed up as `owner@example.org`. */
export function assertNoSecretIn(logLines: readonly string[], visitor: Visitor): void {
  const log = logLines.join("\n");
  assert.ok(log.includes("/console/api/sign-up"), "requests were logged");
  for (const secret of [PASSWORD, visitor.cookie.split("=")[1] ?? "?", "sk-svc-", "owner@example.org"])
    assert.ok(!log.includes(secret), "a secret was logged");
}
