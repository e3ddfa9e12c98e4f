import type { RecognizerManifest } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import { chooseDefault, readDefaults } from "../../src/models/defaults.js";
import { findInstalled, modelFolders } from "../../src/models/folders.js";
import { readConfig } from "../../src/settings/settings.js";

/**
 * Finds an installed recogniser where the service would find it.
 *
 * @param id null for the default model
 * @throws {RangeError} listing the installed ones
 */
export async function installedRecognizer(id: string | null): Promise<PackageFolder<RecognizerManifest>> {
  const folders = modelFolders(readConfig(process.env));
  const packages = await findInstalled(folders);
  const isRecognizer = (found: PackageFolder): found is PackageFolder<RecognizerManifest> =>
    found.manifest.task === "transcription";
  const recognizers = packages.filter(isRecognizer);
  const chosen =
    id === null
      ? chooseDefault<RecognizerManifest>(packages, "transcription", {
          defaults: await readDefaults(folders.install),
          folder: folders.install,
        })
      : recognizers.find(({ manifest }) => manifest.id === id);
  if (chosen === undefined || chosen === null) {
    const names = recognizers.map(({ manifest }) => manifest.id).join(", ");
    throw new RangeError(
      `no recogniser ${id ?? ""} in ${folders.read.join(" or ")}, found: ${names || "none"}`,
    );
  }
  return chosen;
}
