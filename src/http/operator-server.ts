import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "../observe/log.js";
import type { Metrics } from "../observe/metrics.js";

/** A port for those who run the service, apart from its public one. */
export interface OperatorServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `GET /metrics`. @throws when the port is taken or the host is not ours */
export async function startOperatorServer(options: {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly metrics: Metrics;
  readonly log: Log;
}): Promise<OperatorServer> {
  const { host, port, metrics, log } = options;
  const server = createServer(async (request, response) => {
    if (request.method !== "GET" || request.url !== "/metrics") {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ detail: "only GET /metrics lives here" }));
      return;
    }
    try {
      const text = await metrics.text();
      response.writeHead(200, { "content-type": metrics.contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, "metrics failed");
      response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ detail: "internal error" }));
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
