import { json } from "node:stream/consumers";
import { readManifest } from "../models/find-packages.js";
import type { PackageFolder } from "../models/package.js";
import { timeSpeech } from "./speech-trial.js";
import { placedNodes, type TrialAnswer, type TrialRequest, timeShapes } from "./trial.js";

/** The program that `tryProvider` starts. */
const { folder, place, graphs, placed, streams, ...options } = (await json(process.stdin)) as TrialRequest;
const manifest = await readManifest(folder);
if (manifest === null) throw new TypeError(`${folder} is not a model package`);
const model: PackageFolder = { folder, manifest };
for (const shapes of graphs) {
  await reported(shapes.graph, () =>
    timeShapes(model, shapes, place, options, (figures) => answer({ type: "shape", figures })),
  );
}
for (const { graph, sizes } of placed) {
  await reported(graph, async () =>
    answer({ type: "placed", placed: await placedNodes(model, graph, place, sizes) }),
  );
}

if (streams.length > 0) {
  await reported("speech", async () => {
    for (const figures of await timeSpeech(folder, place, streams)) answer({ type: "speech", figures });
  });
}

async function reported(graph: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    answer({ type: "failed", graph, reason: (error as Error).message });
  }
}

function answer(value: TrialAnswer): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
