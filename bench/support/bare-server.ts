// Serves a bare handler in a separate process: `node bare-server.js uws|node BODY`. Prints its port.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";

const [kind, text = ""] = process.argv.slice(2);
const body = Buffer.from(text);

if (kind === "node") {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
  });
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
} else {
  const binding = loadUwsBinding();
  if (typeof binding === "string") throw new Error(binding);
  const app = binding.App().any("/*", (res) => {
    res.cork(() => {
      res.writeStatus("200 OK").writeHeader("content-type", "application/json").end(body);
    });
  });
  app.listen("127.0.0.1", 0, 0, (socket) => {
    if (socket === false) throw new Error("Cannot listen on 127.0.0.1");
    console.log(binding.us_socket_local_port(socket));
  });
}
