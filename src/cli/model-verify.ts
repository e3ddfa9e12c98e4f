import { join } from "node:path";
import { seeNearVoice, seePackages } from "../models/folders.js";
import { type FileCheck, verifyPackage } from "../models/verify.js";
import { CommandError, type CommandInput, printLine } from "./command.js";
import { foldersOf, unknownModel } from "./model-folders.js";

/** Runs `models verify [NAME]`: hashes every file, including broken packages and the shipped voice activity detector. */
export async function verifyModels(input: CommandInput, name: string | null): Promise<void> {
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
    data.push({ id, folder, ok: bad === 0, fault, files: files.map(toJson) });
  }
  if (isJson) printLine(JSON.stringify({ data }));
  if (badCount === 0) return;
  const what = badCount === 1 ? "1 file" : `${badCount} files`;
  throw new CommandError(
    `${what} failed verification; repair the package with \`dauys models add NAME\`, or reinstall the service if it ships with it`,
  );
}

function toJson({ path, bytes, isGood, fault }: FileCheck) {
  return { path, bytes, ok: isGood, fault };
}
