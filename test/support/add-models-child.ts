// Adds a model of a catalogue to several folders, as `dauys models add` does, until its parent kills it. The
// arguments are the catalogue, the name, the endpoint of the hub, and then a number of steps and a path for
// each folder. The addition to a folder starts after that many steps of the previous addition. Each step
// prints its addition and the number of bytes.
import { readCatalogue } from "../../src/models/catalogue.js";
import { addFromCatalogue } from "../../src/models/hub/add-from-catalogue.js";
import { readHubOptions } from "../../src/models/hub/client.js";

const [path, name, endpoint, ...places] = process.argv.slice(2) as [string, string, string, ...string[]];
const catalogue = await readCatalogue(path);
const entry = catalogue.find((each) => each.name === name)!;

async function add(index: number, folder: string, onStep: () => void): Promise<void> {
  await addFromCatalogue({
    catalogue,
    entry,
    variant: "fp32",
    vad: "silero",
    folders: { read: [folder], install: folder },
    hub: readHubOptions({ HF_ENDPOINT: endpoint }),
    from: null,
    isTrusted: false,
    retry: { tries: 3, firstPauseMs: 1 },
    signal: new AbortController().signal,
    observer: {
      progress: ({ bytes }) => {
        process.stdout.write(`${index} ${bytes}\n`);
        onStep();
      },
      note: () => {},
    },
  });
  // An addition that waits for more steps may start now.
  for (let i = 0; i < 1_000; i++) onStep();
}

function startFrom(index: number): void {
  const [steps, folder] = places.slice(index);
  if (folder === undefined) return;
  let left = Number(steps);
  void add(index / 2, folder, () => {
    if (--left === 0) startFrom(index + 2);
  });
}
startFrom(0);
