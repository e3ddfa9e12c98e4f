import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type CatalogueEntry,
  type Licence,
  packageIdOf,
  readCatalogue,
  sizeOf,
  variantsOf,
  wantedFiles,
} from "../models/catalogue.js";
import { addFromCatalogue, USUAL_RETRY } from "../models/hub/add-from-catalogue.js";
import { addPackage, isAddress } from "../models/hub/add-package.js";
import { readHubOptions } from "../models/hub/client.js";
import type { Installed } from "../models/hub/install.js";
import { CommandError, type CommandInput, printLine, printNote, UsageError } from "./command.js";
import { Interruption } from "./interruption.js";
import { unknownModel, writableFolders } from "./model-folders.js";
import { FileProgress } from "./model-progress.js";
import { megabytes, startProgress } from "./progress.js";

/** `models add NAME`, or `--from PLACE`, or both: files of NAME that lie in a folder. */
export async function addModel(input: CommandInput, name: string | null): Promise<void> {
  const { options, environment } = input;
  const sha256 = options.text("sha256");
  if (sha256 !== null && !/^[0-9a-f]{64}$/.test(sha256))
    throw new UsageError(`--sha256 must be 64 hexadecimal digits, received "${sha256}"`);
  const catalogue = await readCatalogue(options.text("catalogue") ?? undefined);
  const choice = name === null ? null : chosen(catalogue, name, options.text("variant"));
  if (choice === null && options.text("variant") !== null)
    throw new UsageError("--variant belongs to a NAME");
  const from = await placeOf(options.text("from"), choice !== null);
  const hub = readHubOptions(environment);
  if (choice !== null) announce(input, catalogue, choice);
  const folders = await writableFolders(input);
  const progress = new FileProgress();
  const stop = startProgress(input, () => progress.parts());
  const interruption = new Interruption();
  const common = {
    catalogue,
    folders,
    hub,
    isTrusted: options.isSet("trust"),
    retry: USUAL_RETRY,
    signal: interruption.signal,
    observer: { progress: progress.moved.bind(progress), note: (text: string) => remark(input, text) },
  };
  try {
    const installed =
      choice !== null
        ? await addFromCatalogue({ ...common, ...choice, from })
        : await addPackage({
            ...common,
            from: from!,
            sha256,
            onLicence: (id, licence) => requireLicence(input, id, licence),
          });
    stop();
    report(input, installed);
  } finally {
    stop();
    interruption.over();
  }
}

interface Choice {
  readonly entry: CatalogueEntry;
  readonly variant: string;
}

function chosen(catalogue: readonly CatalogueEntry[], name: string, wanted: string | null): Choice {
  const names = catalogue.filter(({ task }) => task !== "part").map((each) => each.name);
  const entry = catalogue.find((each) => each.name === name);
  if (entry === undefined) throw unknownModel(`the catalogue has no ${name}`, name, names);
  if (entry.task === "part") {
    const users = catalogue
      .filter(({ needs }) => Object.values(needs).includes(name))
      .map((each) => each.name);
    throw new CommandError(`${name} is a part of ${users.join(", ")}, which bring it along`);
  }
  const variants = variantsOf(entry);
  const variant = wanted ?? variants[0]!;
  if (variants.includes(variant)) return { entry, variant };
  throw new UsageError(`${name} has ${variants.join(" and ")}, received --variant ${variant}`);
}

/** @throws when the place is not there, or is one that cannot hold what is wanted */
async function placeOf(from: string | null, hasName: boolean): Promise<string | null> {
  if (from === null) return null;
  if (isAddress(from)) {
    if (hasName) throw new UsageError("--from with an address brings a bundle, which has its name in it");
    return from;
  }
  const path = resolve(from);
  const found = await stat(path).catch(() => null);
  if (found === null) throw new CommandError(`there is no ${path}`);
  if (hasName && !found.isDirectory())
    throw new UsageError("--from with a NAME takes a folder; a bundle has its name in it");
  return path;
}

function announce(
  input: CommandInput,
  catalogue: readonly CatalogueEntry[],
  { entry, variant }: Choice,
): void {
  const bytes = sizeOf(wantedFiles(catalogue, entry, variant));
  remark(input, `${packageIdOf(entry, variant)}: ${megabytes(bytes)} MB`);
  requireLicence(input, entry.name, entry.licence);
}

function requireLicence(input: CommandInput, id: string, { name, url, isRestricted }: Licence): void {
  const shown = `licence of ${id}: ${name}${url === "" ? "" : `, ${url}`}`;
  if (isRestricted && !input.options.isSet("accept-licence"))
    throw new CommandError(
      `${shown}. It restricts what the model may be used for: add --accept-licence when you have read it`,
    );
  remark(input, shown);
}

function report(input: CommandInput, { folder, files, isNew }: Installed): void {
  const id = folder.split("/").at(-1)!;
  if (input.options.isSet("json")) {
    const data = files.map(({ name, path, bytes, sha256, isTrusted }) => ({
      name,
      path,
      bytes,
      sha256,
      trusted: isTrusted,
    }));
    printLine(JSON.stringify({ id, folder, is_new: isNew, files: data }));
    return;
  }
  for (const { path, sha256 } of files.filter(({ isTrusted }) => isTrusted)) {
    printLine(`trusted ${path}: sha256 ${sha256}, kept in the package`);
  }
  printLine(isNew ? `${id} is installed in ${folder}` : `${id} is installed already, and whole: ${folder}`);
  remark(
    input,
    `\`dauys models use ${id}\` makes it the default; a running service has it when it is started again.`,
  );
}

function remark({ options }: CommandInput, text: string): void {
  if (!options.isSet("quiet")) printNote(text);
}
