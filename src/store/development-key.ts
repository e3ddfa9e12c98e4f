import { join } from "node:path";
import type { KeyStore } from "../../core/ports/key-store.js";
import type { Config } from "../settings/settings.js";
import type { ApiKeys } from "./accounts/api-keys.js";
import { isWellFormedKey, newRawKey, sharedRawKey } from "./accounts/key-secret.js";
import type { Organizations } from "./accounts/organizations.js";
import { rememberedSecret, writeSecret } from "./postgres/secret-files.js";

/** File in the data folder that contains the raw development key. */
export const DEVELOPMENT_KEY_FILE = "dev-key";

const ORGANIZATION = "org_development";
const WANTED = { organizationId: ORGANIZATION, name: "development" };

interface KeyParts {
  readonly organizations: Organizations;
  readonly apiKeys: ApiKeys;
  readonly keys: KeyStore;
}

/** Creates the development key if it is missing. Returns its raw form. */
export async function ensureDevelopmentKey(
  { devApiKey, dataDir, keyPepper }: Pick<Config, "devApiKey" | "dataDir" | "keyPepper">,
  { organizations, apiKeys, keys }: KeyParts,
): Promise<string> {
  await organizations.ensure(ORGANIZATION, "development");
  if (devApiKey !== null) {
    await apiKeys.ensure(WANTED, devApiKey);
    return devApiKey;
  }
  const isUsable = async (rawKey: string): Promise<boolean> => {
    if (isWellFormedKey(rawKey)) await apiKeys.ensure(WANTED, rawKey);
    return (await keys.find(rawKey)) !== null;
  };
  const path = join(dataDir, DEVELOPMENT_KEY_FILE);
  const candidate = (nth: number) => (keyPepper === null ? newRawKey() : sharedRawKey(keyPepper, nth));
  const remembered = await rememberedSecret(path, () => candidate(0));
  if (await isUsable(remembered)) return remembered;
  // The remembered key was revoked, or the file contains something else, so the next usable key replaces it.
  for (let nth = 0; ; nth++) {
    const rawKey = candidate(nth);
    if (!(await isUsable(rawKey))) continue;
    await writeSecret(path, rawKey);
    return rawKey;
  }
}
