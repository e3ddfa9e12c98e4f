// Loads the native front's binding for this platform and serves one request with it.
import { get } from "node:http";
import { findUws } from "../../dist/src/front/uws/load-binding.js";

const found = findUws();
if (found.binding === null) throw new Error(JSON.stringify(found.unused));
const app = found.binding.App().any("/*", (response) => response.end(`hello from ${process.arch}`));
app.listen("127.0.0.1", 0, 0, (socket) => {
  if (socket === false) throw new Error("Cannot listen on 127.0.0.1");
  const port = found.binding.us_socket_local_port(socket);
  get({ host: "127.0.0.1", port, agent: false }, async (answer) => {
    console.log(`${found.package} ${found.version}: ${(await answer.toArray()).join("")}`);
    process.exit();
  });
});
