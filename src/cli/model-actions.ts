import { rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type ModelManifest, TASKS } from "../../native/models/manifest.js";
import { packageFiles } from "../../native/models/package-files.js";
import {
  chooseDefault,
  type Defaults,
  readDefaults,
  SHIPPED_IDS,
  writeDefaults,
} from "../models/defaults.js";
import { type ModelFolders, readablePackages, seeNearVoice, seePackages } from "../models/folders.js";
import { bundlePackage } from "../models/hub/bundle.js";
import { REMOVED, withInstallLock } from "../models/hub/install-lock.js";
import { quantizeInstalled } from "../models/hub/quantize-installed.js";
import { type FileCheck, verifyPackage } from "../models/verify.js";
import {
  CommandError,
  type CommandInput,
  printLine,
  printRemark,
  printResult,
  UsageError,
} from "./command.js";
import { interruptible } from "./interruption.js";
import { addModel } from "./model-add.js";
import { foldersOf, requireInstalled, requireSeen, unknownModel, writableFolders } from "./model-folders.js";
import { listModels } from "./model-list.js";
import { FileProgress } from "./model-progress.js";
import { type LinePart, megabytes, withProgress } from "./progress.js";

const RESTART = "restart a running service to apply this";

export const MODEL_ACTIONS = {
  list: listModels,
  add: addModel,
  verify: verifyModels,
  use: useModel,
  remove: removeModel,
  bundle: bundleModel,
  quantize: quantizeModel,
} satisfies Readonly<Record<string, (input: CommandInput, name: string | null) => Promise<void>>>;

/** Runs `models verify [NAME]`, also for broken packages and the shipped voice activity detector. */
async function verifyModels(input: CommandInput, name: string | null): Promise<void> {
  const all = [...(await seePackages(foldersOf(input))), seeNearVoice()];
  const chosen = all.filter(({ id }) => name === null || id === name);
  if (name !== null && chosen.length === 0) {
    const known = all.map(({ id }) => id);
    throw unknownModel(`"${name}" is not installed`, name, known);
  }
  const isJson = input.options.isSet("json");
  const data: object[] = [];
  let badCount = 0;
  for (const { id, folder, package: found, fault } of chosen) {
    const show = (state: string, path: string, why: string | null) => {
      if (!isJson) printLine(`${state.padEnd(4)}${join(id, path)}${why === null ? "" : `: ${why}`}`);
    };
    if (found === null) show("bad", "manifest.json", fault);
    const onFile = ({ path, isGood, fault: why }: FileCheck) => show(isGood ? "ok" : "bad", path, why);
    const files = found === null ? [] : await verifyPackage(found, onFile);
    const bad = files.filter(({ isGood }) => !isGood).length + (found === null ? 1 : 0);
    badCount += bad;
    const checks = files.map((file) => ({
      path: file.path,
      bytes: file.bytes,
      ok: file.isGood,
      fault: file.fault,
    }));
    data.push({ id, folder, ok: bad === 0, fault, files: checks });
  }
  if (isJson) printLine(JSON.stringify({ data }));
  if (badCount === 0) return;
  const what = badCount === 1 ? "1 file" : `${badCount} files`;
  throw new CommandError(
    `${what} failed verification; repair the package with \`dauys models add NAME\`, or reinstall the service if the package ships with it`,
  );
}

/** Runs `models use NAME`. */
async function useModel(input: CommandInput, name: string | null): Promise<void> {
  await withLock(input, async (folders) => {
    const { id, task } = await usable(folders, name!);
    const before = without(await readDefaults(folders.install), task);
    // Without a choice, the shipped punctuation model is used, even if `MODELS_DIR` lacks it.
    const isChoice = id !== SHIPPED_IDS.punctuation;
    await writeDefaults(folders.install, isChoice ? { ...before, [task]: id } : before);
    printResult(input, { id, task }, `${id} is now the default for ${task}`, RESTART);
  });
}

async function usable(folders: ModelFolders, name: string): Promise<Pick<ModelManifest, "id" | "task">> {
  if (name === SHIPPED_IDS.punctuation) return { id: name, task: "punctuation" };
  return requireInstalled(await readablePackages(folders), name).manifest;
}

/** Runs `models remove NAME`. */
async function removeModel(input: CommandInput, name: string | null): Promise<void> {
  await withLock(input, async (folders) => {
    const seen = await seePackages(folders);
    const { id, folder } = requireSeen(seen, name!);
    if (resolve(dirname(folder)) !== resolve(folders.install))
      throw new CommandError(`"${id}" ships with the service and cannot be removed (${folder})`);
    const defaults = await readDefaults(folders.install);
    const task = TASKS.find((each) => defaults[each] === id) ?? null;
    // Do this first, because a default that is not installed keeps the service from starting.
    if (task !== null) await writeDefaults(folders.install, without(defaults, task));
    const aside = join(folders.install, `.${id}${REMOVED}`);
    await rm(aside, { recursive: true, force: true });
    // Rename before deleting, so that no reader sees a half-deleted package.
    await rename(folder, aside);
    await rm(aside, { recursive: true, force: true });
    const left = seen.flatMap((each) => (each.package === null || each.id === id ? [] : [each.package]));
    const next = task === null ? null : chooseDefault(left, task, { defaults: {}, folder: folders.install });
    // The shipped punctuation model works with any packages folder.
    const successor = next?.manifest.id ?? (task === "punctuation" ? SHIPPED_IDS.punctuation : null);
    const now =
      successor === null ? `${task} no longer has a default` : `${successor} is now the default for ${task}`;
    const remarks = task === null ? [] : [`${now}; ${RESTART}`];
    printResult(input, { id, task, default: successor }, `removed ${id}`, ...remarks);
  });
}

/** Runs `models bundle NAME -o FILE`. */
async function bundleModel(input: CommandInput, name: string | null): Promise<void> {
  const output = input.options.text("output");
  if (output === null) throw new UsageError("bundle needs -o FILE");
  const found = requireInstalled(await readablePackages(foldersOf(input)), name!);
  const { id, files } = found.manifest;
  const sizes = packageFiles(files).map(async (file) => (await stat(join(found.folder, file.path))).size);
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  const progress = new FileProgress();
  const onBytes = (bytes: number) => progress.moved({ file: id, bytes, total });
  const path = resolve(output);
  const { bytes } = await interruptible((signal) => {
    const work = () => bundlePackage(found, path, { signal, onBytes });
    return withProgress(input, () => progress.parts(), work);
  });
  const advice = "install it elsewhere with `dauys models add --from FILE`";
  printResult(input, { id, path, bytes }, `wrote ${id} to ${path}, ${megabytes(bytes)} MB; ${advice}`);
}

/** Runs `models quantize NAME`. */
async function quantizeModel(input: CommandInput, name: string | null): Promise<void> {
  let parts: readonly LinePart[] = ["reading"];
  const onProgress = ({ file, done, total }: { file: string; done: number; total: number }) => {
    parts = [file, { share: done / total }, `${done} of ${total} products`];
  };
  const { id, folder, products, bytesBefore, bytesAfter } = await withLock(input, async (folders) => {
    const found = requireInstalled(await readablePackages(folders), name!);
    const work = async () => await quantizeInstalled(found, folders.install, { onProgress });
    return await withProgress(input, () => parts, work);
  });
  const sizes = `${megabytes(bytesAfter)} MB instead of ${megabytes(bytesBefore)} MB`;
  printResult(
    input,
    { id, folder, products, bytes_before: bytesBefore, bytes_after: bytesAfter },
    `created ${id}: ${products} matrix products in int8, ${sizes}`,
    "compare both on your own recordings: `npm run evaluate -- people DIR`",
  );
}

/** Runs `work` while no other command can change the installed packages. */
async function withLock<T>(input: CommandInput, work: (folders: ModelFolders) => Promise<T>): Promise<T> {
  const folders = await writableFolders(input);
  const onWait = (message: string) => printRemark(input, message);
  return await interruptible((signal) =>
    withInstallLock(folders.install, { signal, onWait }, () => work(folders)),
  );
}

function without(defaults: Defaults, task: keyof Defaults): Defaults {
  return Object.fromEntries(Object.entries(defaults).filter(([each]) => each !== task));
}
