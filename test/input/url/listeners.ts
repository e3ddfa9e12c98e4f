import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that counts its connections. */
export interface CountingServer {
  readonly port: number;
  readonly connections: number;
  readonly paths: readonly string[];
  close(): Promise<void>;
}

export async function startCounting(
  address: string,
  listener: RequestListener,
  port = 0,
): Promise<CountingServer> {
  let connections = 0;
  const paths: string[] = [];
  const server: Server = createServer((request, response) => {
    paths.push(request.url ?? "");
    listener(request, response);
  });
  server.on("connection", () => void connections++);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    paths,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
