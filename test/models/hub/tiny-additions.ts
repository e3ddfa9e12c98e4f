import { readdir } from "node:fs/promises";
import { after, before, beforeEach } from "node:test";
import { type AddJob, addFromCatalogue } from "../../../src/models/hub/add-from-catalogue.js";
import { readHubOptions } from "../../../src/models/hub/client.js";
import type { Installed } from "../../../src/models/hub/install.js";
import { temporaryFolder } from "../../support/folders.js";
import { type Fault, LocalHub, type SeenRequest } from "../../support/local-hub.js";
import { type Changes, REPOSITORIES, tinyCatalogue } from "../../support/tiny-catalogue.js";

/** For a server that must not be given up. */
const PATIENCE_MS = 60_000;

type Job = Partial<AddJob> & {
  readonly changes?: Changes;
  readonly environment?: Record<string, string>;
  readonly stallMs?: number;
};

/** Additions of the tests' catalogue from a local hub to a folder that is empty at the start of each test. */
export class TinyAdditions {
  hub!: LocalHub;
  folder = "";
  notes: string[] = [];
  /** Bytes of the downloaded file. */
  #arrived = 0;

  /** Registers the hooks of a test file. */
  useHub(): this {
    before(async () => {
      this.hub = await LocalHub.start(REPOSITORIES);
    });
    after(() => this.hub.stop());
    beforeEach(async () => {
      this.folder = await temporaryFolder();
      this.hub.requests.length = 0;
      this.hub.fault = () => null;
      this.notes = [];
      this.#arrived = 0;
    });
    return this;
  }

  /** Adds a model of the tests' catalogue. */
  async add(
    name: string,
    { changes, environment = {}, stallMs = PATIENCE_MS, ...job }: Job = {},
  ): Promise<Installed> {
    const { catalogue } = await tinyCatalogue(changes);
    return await addFromCatalogue({
      catalogue,
      entry: catalogue.find((entry) => entry.name === name)!,
      variant: "fp32",
      vad: "near",
      folders: { read: [this.folder], install: this.folder },
      hub: { ...readHubOptions({ HF_ENDPOINT: this.hub.endpoint, ...environment }), stallMs },
      from: null,
      isTrusted: false,
      retry: { tries: 3, firstPauseMs: 1 },
      signal: new AbortController().signal,
      observer: {
        progress: ({ bytes }) => {
          this.#arrived = bytes;
        },
        note: (text) => void this.notes.push(text),
      },
      ...job,
    });
  }

  cutAfter(after: number): Fault {
    const before = this.#arrived;
    return { kind: "cut", after, isTaken: () => this.#arrived - before >= after };
  }

  downloadsOf(name: string): readonly SeenRequest[] {
    return this.hub.downloads.filter(({ path }) => path.includes(name));
  }

  /** Names of the packages. */
  async visible(): Promise<readonly string[]> {
    return (await readdir(this.folder)).filter((name) => !name.startsWith("."));
  }
}
