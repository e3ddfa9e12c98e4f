import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServedPart } from "../../core/domain/served.js";
import type { Log } from "../../core/observe/log.js";
import type { Metrics } from "../../core/observe/metrics.js";

export interface OperatorServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Amount of work per part that waits for engine processes or runs on them. */
export type Demand = Readonly<Record<ServedPart, { readonly wanted: number }>> & {
  /** `late_seconds`: waiting audio of the session whose worker is furthest behind. */
  readonly live: { readonly late_seconds: number };
};

/** Serves `/metrics`, `/health`, `/ready` and `/demand`. @throws if it cannot listen on the port */
export async function startOperatorServer(options: {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /** Returns the state of each engine as JSON. */
  readonly engines: () => readonly object[];
  /** Returns whether the process accepts work. If absent, there is no `/ready`. */
  readonly isReady?: () => boolean;
  /** Returns the demand, for an autoscaler of engine processes. If absent, there is no `/demand`. */
  readonly demand?: () => Promise<Demand>;
  readonly log: Log;
}): Promise<OperatorServer> {
  const { host, port, metrics, engines, isReady, demand, log } = options;
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const path = request.method === "GET" ? request.url : null;
    if (path === "/health") return answer(200, { status: "ok", engines: engines() });
    if (path === "/ready" && isReady !== undefined)
      return isReady() ? answer(200, { status: "ready" }) : answer(503, { status: "not ready" });
    if (path === "/demand" && demand !== undefined) return answer(200, await demand());
    if (path !== "/metrics")
      return answer(404, { detail: "no such endpoint; use GET /metrics or GET /health" });
    try {
      const text = await metrics.text();
      response.writeHead(200, { "content-type": metrics.contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, "metrics failed");
      answer(500, { detail: "internal error" });
    }
  });
  server.listen({ host, port, exclusive: true });
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  log.info({ host, port: address.port }, "operator port open");
  return {
    port: address.port,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
