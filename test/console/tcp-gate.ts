import { once } from "node:events";
import { createServer, type Socket, connect as tcpConnect } from "node:net";

/** A TCP proxy to a local service that a test can pause, cut and close. */
export interface TcpGate {
  readonly url: string;
  /** From now on, holds back the service's responses. */
  hold(): void;
  /** Sends the held responses, and no longer holds back later ones. */
  release(): void;
  /** Cuts every connection, and rejects new ones. */
  cut(): void;
  /** Accepts connections again. */
  restore(): void;
  close(): Promise<void>;
}

export async function openGate(servicePort: number): Promise<TcpGate> {
  const pairs = new Set<{ readonly client: Socket; readonly service: Socket }>();
  let isHeld = false;
  let isCut = false;
  const server = createServer({ noDelay: true }, (client) => {
    if (isCut) {
      client.resetAndDestroy();
      return;
    }
    const service = tcpConnect({ port: servicePort, host: "127.0.0.1", noDelay: true });
    const pair = { client, service };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      service.destroy();
    };
    for (const socket of [client, service]) socket.on("error", end).on("close", end);
    client.pipe(service);
    service.on("data", (bytes) => client.write(bytes));
    if (isHeld) service.pause();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const cut = () => {
    isCut = true;
    for (const { client, service } of pairs) {
      client.resetAndDestroy();
      service.resetAndDestroy();
    }
  };
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    hold: () => {
      isHeld = true;
      for (const { service } of pairs) service.pause();
    },
    release: () => {
      isHeld = false;
      for (const { service } of pairs) service.resume();
    },
    cut,
    restore: () => {
      isCut = false;
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
