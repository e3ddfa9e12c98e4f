import { request } from "node:http";

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of many kinds of answers
  readonly json: any;
}

export interface ConsoleRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Announces a body but never sends it. */
  readonly isWithheld?: boolean;
}

/** A response that takes longer counts as hanging. */
const ANSWER_WITHIN_MS = 60_000;

/** A console client with its own address in 127.0.0.0/8. */
export class ConsoleClient {
  readonly #port: number;
  readonly #localAddress: string;
  cookie = "";

  constructor(port: number, localAddress = "127.0.0.1") {
    this.#port = port;
    this.#localAddress = localAddress;
  }

  ask(method: string, path: string, more: ConsoleRequest = {}): Promise<ConsoleAnswer> {
    const { body, headers = {}, isWithheld = false } = more;
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body ?? {}));
    const hasBody = body !== undefined || isWithheld;
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: "127.0.0.1",
          port: this.#port,
          localAddress: this.#localAddress,
          method,
          path: `/console/api${path}`,
          agent: false,
          headers: {
            origin: `http://127.0.0.1:${this.#port}`,
            ...(this.cookie !== "" && { cookie: this.cookie }),
            ...(hasBody && { "content-type": "application/json", "content-length": bytes.length }),
            ...headers,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on("data", (chunk: Buffer) => chunks.push(chunk));
          answer.on("error", reject);
          answer.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            const isJson = answer.headers["content-type"] === "application/json";
            this.cookie = answer.headers["set-cookie"]?.[0]?.split(";")[0] ?? this.cookie;
            sent.destroy();
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              json: isJson ? JSON.parse(text) : null,
            });
          });
        },
      );
      sent.setTimeout(ANSWER_WITHIN_MS, () =>
        sent.destroy(new Error(`no answer to ${method} ${path} in ${ANSWER_WITHIN_MS} ms`)),
      );
      sent.on("error", reject);
      if (isWithheld) sent.flushHeaders();
      else sent.end(hasBody ? bytes : undefined);
    });
  }

  /** Signs up. Returns the organization's ID. */
  async signUp(email: string, more: object = { organization: "Acme" }): Promise<string> {
    const person = { email, password: "correct horse battery", ...more };
    const { status, json } = await this.ask("POST", "/sign-up", { body: person });
    if (status !== 201) throw new Error(`sign-up of ${email} was refused: ${JSON.stringify(json)}`);
    return json.organizations[0].id;
  }
}
