// Serves page.html, recorder.html and a stream token for each of its connections, so the key stays on the server.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { DauysClient } from "dauys/client";

const baseUrl = process.env.DAUYS_URL ?? "http://127.0.0.1:8080";
const client = new DauysClient({ baseUrl, apiKey: process.env.DAUYS_API_KEY });
const PAGES = { "/": "page.html", "/recorder": "recorder.html" };

const server = createServer(async (request, response) => {
  const page = PAGES[request.url];
  if (page !== undefined) {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(await readFile(new URL(page, import.meta.url)));
    return;
  }
  if (request.method !== "POST" || request.url !== "/token") {
    response.writeHead(404).end();
    return;
  }
  // Authenticate visitors here: you pay for the audio of anyone with a token.
  try {
    const { token } = await client.streamToken();
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(JSON.stringify({ token, url: `${baseUrl.replace(/^http/, "ws")}/v1/stream` }));
  } catch (error) {
    console.error(error.message);
    response.writeHead(502).end();
  }
});
server.listen(Number(process.env.PORT ?? 8081), "127.0.0.1", () => {
  console.log(`open http://127.0.0.1:${server.address().port}`);
});
