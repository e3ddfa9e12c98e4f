import { rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { chooseDefault, type Defaults, readDefaults, type Task, writeDefaults } from "../models/defaults.js";
import { readablePackages, seePackages } from "../models/folders.js";
import { REMOVED, withInstallLock } from "../models/hub/install-lock.js";
import { CommandError, type CommandInput, printLine, printNote } from "./command.js";
import { Interruption } from "./interruption.js";
import { requireInstalled, requireSeen, writableFolders } from "./model-folders.js";

const TASKS: readonly Task[] = ["transcription", "synthesis"];
const RESTART = "restart a running service to apply this";

/** Runs `models use NAME`. */
export async function useModel(input: CommandInput, name: string | null): Promise<void> {
  await changing(input, async (folders) => {
    const { manifest } = requireInstalled(await readablePackages(folders), name!);
    const { id, task } = manifest;
    const before = await readDefaults(folders.install);
    await writeDefaults(folders.install, { ...before, [task]: id });
    if (input.options.isSet("json")) return printLine(JSON.stringify({ id, task }));
    printLine(`${id} is now the default for ${task}`);
    remark(input, RESTART);
  });
}

/** Runs `models remove NAME`. */
export async function removeModel(input: CommandInput, name: string | null): Promise<void> {
  await changing(input, async (folders) => {
    const seen = await seePackages(folders);
    const { id, folder } = requireSeen(seen, name!);
    if (resolve(dirname(folder)) !== resolve(folders.install))
      throw new CommandError(`"${id}" ships with the service and cannot be removed (${folder})`);
    const defaults = await readDefaults(folders.install);
    const task = TASKS.find((each) => defaults[each] === id) ?? null;
    // First, because a default that is not installed keeps the service from starting.
    if (task !== null) await writeDefaults(folders.install, without(defaults, task));
    const aside = join(folders.install, `.${id}${REMOVED}`);
    await rm(aside, { recursive: true, force: true });
    // Rename first, so that no reader sees a half-deleted package.
    await rename(folder, aside);
    await rm(aside, { recursive: true, force: true });
    const left = seen.flatMap((each) => (each.package === null || each.id === id ? [] : [each.package]));
    const next = task === null ? null : chooseDefault(left, task, { defaults: {}, folder: folders.install });
    const successor = next?.manifest.id ?? null;
    if (input.options.isSet("json")) return printLine(JSON.stringify({ id, task, default: successor }));
    printLine(`removed ${id}`);
    if (task === null) return;
    const now =
      successor === null ? `${task} has no default now` : `${successor} is now the default for ${task}`;
    remark(input, `${now}; ${RESTART}`);
  });
}

async function changing(
  input: CommandInput,
  work: (folders: Awaited<ReturnType<typeof writableFolders>>) => Promise<void>,
): Promise<void> {
  const folders = await writableFolders(input);
  const interruption = new Interruption();
  try {
    const onWait = (message: string) => remark(input, message);
    await withInstallLock(folders.install, { signal: interruption.signal, onWait }, () => work(folders));
  } finally {
    interruption.over();
  }
}

function without(defaults: Defaults, task: keyof Defaults): Defaults {
  return Object.fromEntries(Object.entries(defaults).filter(([each]) => each !== task));
}

function remark({ options }: CommandInput, text: string): void {
  if (!options.isSet("quiet")) printNote(text);
}
