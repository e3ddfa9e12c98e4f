import { readablePackages } from "../models/folders.js";
import { withInstallLock } from "../models/hub/install-lock.js";
import { quantizeInstalled } from "../models/hub/quantize-installed.js";
import { type CommandInput, printLine, printNote } from "./command.js";
import { Interruption } from "./interruption.js";
import { requireInstalled, writableFolders } from "./model-folders.js";
import { type LinePart, megabytes, startProgress } from "./progress.js";

/** Runs `models quantize NAME`. */
export async function quantizeModel(input: CommandInput, name: string | null): Promise<void> {
  const { options } = input;
  const folders = await writableFolders(input);
  const found = requireInstalled(await readablePackages(folders), name!);
  let parts: readonly LinePart[] = ["reading"];
  const stop = startProgress(input, () => parts);
  const interruption = new Interruption();
  const remark = (text: string) => {
    if (!options.isSet("quiet")) printNote(text);
  };
  try {
    const onProgress = ({ file, done, total }: { file: string; done: number; total: number }) => {
      parts = [file, { share: done / total }, `${done} of ${total} products`];
    };
    const made = await withInstallLock(
      folders.install,
      { signal: interruption.signal, onWait: remark },
      async () => await quantizeInstalled(found, folders.install, { onProgress }),
    );
    stop();
    const { id, folder, products, bytesBefore, bytesAfter } = made;
    if (options.isSet("json")) {
      const data = { id, folder, products, bytes_before: bytesBefore, bytes_after: bytesAfter };
      printLine(JSON.stringify(data));
      return;
    }
    printLine(
      `created ${id}: ${products} products in int8, ${megabytes(bytesAfter)} MB instead of ${megabytes(bytesBefore)} MB`,
    );
    remark("compare both on your own recordings: `npm run evaluate -- people DIR`");
  } finally {
    stop();
    interruption.over();
  }
}
