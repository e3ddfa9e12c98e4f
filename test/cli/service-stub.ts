import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";

/** A request that the stub has received. */
export interface StubRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export interface ServiceStub {
  readonly url: string;
  readonly requests: StubRequest[];
  /** Requests for the list of models, which the stub answers itself. */
  readonly modelRequests: StubRequest[];
  close(): Promise<void>;
}

export const STUB_KEY = `sk-svc-${"0123456789ab".repeat(4)}`;

type Answer = (request: StubRequest, response: ServerResponse) => void;

/** Starts a service whose responses the test defines. */
export async function startStub(
  answer: Answer,
  live: (socket: WebSocket) => void = () => {},
): Promise<ServiceStub> {
  const requests: StubRequest[] = [];
  const modelRequests: StubRequest[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const question = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(parts) };
    if (question.path.endsWith("/v1/models")) {
      modelRequests.push(question);
      response.end(JSON.stringify({ data: [], transcription: [{ name: "svc-kk-ru-v2" }] }));
      return;
    }
    requests.push(question);
    answer(question, response);
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "svc-bearer" });
  server.on("upgrade", (request, socket, head) => {
    requests.push({ path: request.url ?? "", headers: request.headers, body: Buffer.alloc(0) });
    const isKnown = request.headers["sec-websocket-protocol"] === `svc-bearer,${STUB_KEY}`;
    sockets.handleUpgrade(request, socket, head, isKnown ? live : refuse);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    requests,
    modelRequests,
    close: async () => {
      sockets.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Responds like the service to an unknown key. */
function refuse(socket: WebSocket): void {
  const detail = "missing or invalid API key";
  socket.send(JSON.stringify({ type: "error", code: "key_invalid", detail, retryable: false }));
  socket.close(4401);
}
