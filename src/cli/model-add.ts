import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type CatalogueEntry,
  type Licence,
  NEAR_VAD,
  packageIdOf,
  readCatalogue,
  sizeOf,
  vadsOf,
  variantsOf,
  wantedFiles,
} from "../models/catalogue.js";
import { readablePackages } from "../models/folders.js";
import { addFromCatalogue, USUAL_RETRY } from "../models/hub/add-from-catalogue.js";
import { addPackage, isAddress } from "../models/hub/add-package.js";
import { readHubOptions } from "../models/hub/client.js";
import type { Installed } from "../models/hub/install.js";
import { CommandError, type CommandInput, printLine, printRemark, UsageError } from "./command.js";
import { interruptible } from "./interruption.js";
import { foldersOf, unknownModel, writableFolders } from "./model-folders.js";
import { FileProgress } from "./model-progress.js";
import { megabytes, withProgress } from "./progress.js";

/** Runs `models add NAME`, `models add --from PLACE`, or both (the files of NAME from a folder). */
export async function addModel(input: CommandInput, name: string | null): Promise<void> {
  const { options, environment } = input;
  const sha256 = options.text("sha256");
  if (sha256 !== null && !/^[0-9a-f]{64}$/.test(sha256))
    throw new UsageError(`--sha256 must be 64 hexadecimal digits, received "${sha256}"`);
  const catalogue = await readCatalogue(options.text("catalogue") ?? undefined);
  const choice = name === null ? null : await choose(input, catalogue, name);
  if (choice === null) {
    for (const option of ["variant", "vad"])
      if (options.text(option) !== null) throw new UsageError(`--${option} requires a NAME`);
  }
  const from = await placeOf(options.text("from"), choice !== null);
  const hub = readHubOptions(environment);
  if (choice !== null) announce(input, catalogue, choice);
  const folders = await writableFolders(input);
  const progress = new FileProgress();
  const observer = {
    progress: progress.moved.bind(progress),
    note: (text: string) => printRemark(input, text),
  };
  const onLicence = (id: string, licence: Licence) => requireLicence(input, id, licence);
  const isTrusted = options.isSet("trust");
  const installed = await interruptible((signal) => {
    const common = { catalogue, folders, hub, isTrusted, retry: USUAL_RETRY, signal, observer };
    const work = () =>
      choice !== null
        ? addFromCatalogue({ ...common, ...choice, from })
        : addPackage({ ...common, from: from!, sha256, onLicence });
    return withProgress(input, () => progress.parts(), work);
  });
  report(input, installed);
}

interface Choice {
  readonly entry: CatalogueEntry;
  readonly variant: string;
  readonly vad: string;
}

async function choose(
  input: CommandInput,
  catalogue: readonly CatalogueEntry[],
  name: string,
): Promise<Choice> {
  const { options } = input;
  const choice = chosen(catalogue, name, options.text("variant"));
  const { entry } = choice;
  const vads = vadsOf(entry);
  const vad = options.text("vad");
  // A package that is added again keeps its voice activity detector.
  if (vad === null) return { ...choice, vad: (await installedVad(input, catalogue, choice)) ?? NEAR_VAD };
  if (vads.includes(vad)) return { ...choice, vad };
  const reason =
    vads.length === 0 ? `${name} does not support --vad` : `--vad must be ${vads.join(" or ")} for ${name}`;
  throw new UsageError(`${reason}, received "${vad}"`);
}

/** Returns the `--vad` of an installed package; null if it is not installed or not in the catalogue. */
async function installedVad(
  input: CommandInput,
  catalogue: readonly CatalogueEntry[],
  { entry, variant }: Omit<Choice, "vad">,
): Promise<string | null> {
  const id = packageIdOf(entry, variant);
  const installed = await readablePackages(foldersOf(input));
  const file = installed.find(({ manifest }) => manifest.id === id)?.manifest.files["vad"];
  const isFile = (vad: string) =>
    wantedFiles(catalogue, entry, variant, vad).some(
      ({ name, sha256 }) => name === "vad" && sha256 === file?.sha256,
    );
  return vadsOf(entry).find(isFile) ?? null;
}

function chosen(
  catalogue: readonly CatalogueEntry[],
  name: string,
  wanted: string | null,
): Omit<Choice, "vad"> {
  const names = catalogue.filter(({ task }) => task !== "part").map((each) => each.name);
  const entry = catalogue.find((each) => each.name === name);
  if (entry === undefined) throw unknownModel(`unknown model "${name}"`, name, names);
  if (entry.task === "part") {
    const users = catalogue
      .filter(({ needs, vads }) => [needs, vads].some((parts) => Object.values(parts).includes(name)))
      .map((each) => each.name);
    throw new CommandError(`"${name}" is part of other models; add ${users.join(" or ")} instead`);
  }
  const variants = variantsOf(entry);
  const variant = wanted ?? variants[0]!;
  if (variants.includes(variant)) return { entry, variant };
  throw new UsageError(`--variant must be ${variants.join(" or ")} for ${name}, received "${variant}"`);
}

/**
 * Resolves `--from`. @throws {CommandError|UsageError} if the place does not exist or is of the wrong kind
 */
async function placeOf(from: string | null, hasName: boolean): Promise<string | null> {
  if (from === null) return null;
  if (isAddress(from)) {
    if (hasName)
      throw new UsageError("--from with a URL adds a bundle, which contains its name; leave out NAME");
    return from;
  }
  const path = resolve(from);
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new CommandError(
      `--from must be a URL, file or folder, received "${from}": no such file or folder`,
    );
  if (hasName && !found.isDirectory())
    throw new UsageError(
      `--from must be a folder if NAME is given, received "${from}"; leave out NAME to add a bundle`,
    );
  return path;
}

function announce(
  input: CommandInput,
  catalogue: readonly CatalogueEntry[],
  { entry, variant, vad }: Choice,
): void {
  const bytes = sizeOf(wantedFiles(catalogue, entry, variant, vad));
  printRemark(input, `${packageIdOf(entry, variant)}: ${megabytes(bytes)} MB`);
  requireLicence(input, entry.name, entry.licence);
}

function requireLicence(input: CommandInput, id: string, { name, url, isRestricted }: Licence): void {
  const terms = `${name}${url === "" ? "" : `, ${url}`}`;
  if (isRestricted && !input.options.isSet("accept-licence"))
    throw new CommandError(
      `the licence of ${id} restricts how it may be used; read it (${terms}) and add --accept-licence`,
    );
  printRemark(input, `licence of ${id}: ${terms}`);
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
    printLine(`trusted ${path}: recorded sha256 ${sha256}`);
  }
  printLine(isNew ? `installed ${id} in ${folder}` : `${id} is already installed and intact in ${folder}`);
  printRemark(input, `\`dauys models use ${id}\` makes it the default; restart a running service to load it`);
}
