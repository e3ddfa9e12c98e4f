import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { uniform } from "./seed.js";

/** A proxy that sends each request, and each socket, to a random one of several services. */
export interface LoadBalancer {
  readonly url: string;
  readonly port: number;
  /** The number of requests that each service got. */
  counts(): readonly number[];
  close(): Promise<void>;
}

/**
 * @param portsNow current ports of the services. Their number is fixed; a restarted service has another port.
 * @param seed determines which request goes where
 */
export async function openLoadBalancer(
  portsNow: () => readonly number[],
  seed: number,
): Promise<LoadBalancer> {
  const next = uniform(seed);
  const counts = portsNow().map(() => 0);
  const pick = () => {
    const nth = Math.min(counts.length - 1, Math.floor(next() * counts.length));
    counts[nth]!++;
    return portsNow()[nth]!;
  };
  const server = createServer((asked, answer) => forward(asked, answer, pick()));
  // Responses pass unchanged, and connections live as long as the clients want.
  server.requestTimeout = 0;
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (asked: IncomingMessage, client: Socket, head: Buffer) => {
    const target = connect(pick(), "127.0.0.1");
    target.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${headerLines(asked.rawHeaders)}\r\n`);
    if (head.length > 0) target.write(head);
    client.pipe(target).pipe(client);
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      one.setNoDelay(true);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    counts: () => [...counts],
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Forwards a request over a new connection, because a reused one would always lead to the same service. */
function forward(asked: IncomingMessage, answer: ServerResponse, port: number): void {
  const { method, url, rawHeaders } = asked;
  const target = request({ host: "127.0.0.1", port, method, path: url, agent: false, setHost: false });
  for (const [name, value] of pairs(rawHeaders)) target.appendHeader(name, value);
  target.once("response", (theirs) => {
    answer.writeHead(theirs.statusCode ?? 502, theirs.statusMessage, theirs.rawHeaders);
    answer.flushHeaders();
    theirs.pipe(answer);
    theirs.once("error", () => answer.destroy());
    theirs.once("close", () => {
      // A response that ended early ends early for the client too.
      if (!theirs.complete) answer.destroy();
    });
  });
  target.on("error", () => answer.destroy());
  answer.once("close", () => target.destroy());
  asked.pipe(target);
}

function headerLines(rawHeaders: readonly string[]): string {
  return pairs(rawHeaders)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

function pairs(rawHeaders: readonly string[]): readonly (readonly [string, string])[] {
  return rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as const] : []));
}
