// A service that loses its only provider exits with 1 and relies on its supervisor.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import WebSocket from "ws";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { cut, joined, silence, speech } from "../support/audio.js";
import { DEVICE_MAIN, SIMULATED_CUDA } from "../support/device/entries.js";
import { lightModels } from "../support/light-models.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const SPEECH = joined(silence(0.3), speech("kazakh-speech-commands/example_1.flac"));

/**
 * Runs a session whose service loses its device in mid-utterance. @returns the messages it received; empty if
 * none
 */
async function listenOnce(
  service: ServiceProcess,
): Promise<{ readonly types: string[]; readonly end: number }> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const send = () => {
    for (const part of cut(SPEECH, [1_600]))
      socket.send(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  };
  const types: string[] = [];
  socket.on("message", (bytes) => {
    const { type } = JSON.parse(String(bytes)) as StreamServerMessage;
    if (type === "partial" && !types.includes("partial")) {
      service.child.kill("SIGUSR2");
      send();
    }
    types.push(type);
  });
  socket.once("open", send);
  const [end] = (await once(socket, "close")) as [number];
  return { types, end };
}

test("a service that loses its last provider asks its sessions to leave and exits with 1", async () => {
  const environment = { EXECUTION_PROVIDERS: "cuda", NODE_OPTIONS: SIMULATED_CUDA, ...(await lightModels()) };
  const service = await startServiceProcess(environment, { main: DEVICE_MAIN });
  const exited = once(service.child, "exit");
  let session = await listenOnce(service);
  // If loading the model takes longer than a session waits, a later session finds it loaded.
  while (!session.types.includes("partial")) session = await listenOnce(service);
  assert.deepEqual(await exited, [1, null], service.output());
  assert.match(
    service.output(),
    /"engine":"live".*CUDA failure 719.*"msg":"engine has lost its last provider"/,
  );
  assert.match(service.output(), /CUDA failure 719.*"msg":"the service cannot continue"/);
  assert.ok(session.types.includes("going_away"), session.types.join(" "));
  assert.notEqual(session.end, 1000);
});
