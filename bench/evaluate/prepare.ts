import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { DEV_SET, EVALUATION_SET, NONSPEECH_SET, RECIPES, REFERENCE_SPEECH } from "./paths.js";

interface GeneratedSet {
  readonly folder: string;
  readonly script: string;
  /** Debian packages that the script requires. */
  readonly packages: readonly string[];
}

const SPEAKING_PACKAGES = ["espeak-ng", "python3-numpy", "python3-scipy", "python3-soundfile"];

export const GENERATED_SETS = {
  evaluation: {
    folder: EVALUATION_SET,
    script: `${RECIPES}recognizer/make_eval.py`,
    packages: SPEAKING_PACKAGES,
  },
  dev: {
    folder: DEV_SET,
    script: `${RECIPES}language-model/make_dev_audio.py`,
    packages: SPEAKING_PACKAGES,
  },
  nonspeech: {
    folder: NONSPEECH_SET,
    script: `${RECIPES}recognizer/make_nonspeech.py`,
    packages: ["python3-numpy", "python3-scipy", "python3-soundfile"],
  },
  reference: {
    folder: REFERENCE_SPEECH,
    script: `${RECIPES}synthesizer/reference.py`,
    packages: SPEAKING_PACKAGES,
  },
} as const satisfies Record<string, GeneratedSet>;

/**
 * Generates a set if it is missing; as root, installs the packages that its script needs.
 * @throws an error that lists the packages to install
 */
export function prepareSet(name: keyof typeof GENERATED_SETS): string {
  const { folder, script, packages } = GENERATED_SETS[name];
  if (existsSync(`${folder}index.jsonl`)) return folder;
  console.error(`making ${folder} with ${script}`);
  const python = ["/usr/bin/python3", script] as const;
  if (runs(...python)) return folder;
  console.error(`installing ${packages.join(" ")}`);
  const isInstalled =
    process.getuid?.() === 0 &&
    runs("apt-get", "update", "-q") &&
    runs("apt-get", "install", "-y", "-q", "--no-install-recommends", ...packages);
  if (isInstalled && runs(...python)) return folder;
  throw new Error(
    `Cannot make ${folder}: ${script} failed; it requires apt-get install ${packages.join(" ")}`,
  );
}

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: ["ignore", process.stderr, process.stderr] }).status === 0;
}
