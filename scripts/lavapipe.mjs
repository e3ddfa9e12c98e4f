// Installs Mesa's software Vulkan, with which WebGPU runs without a GPU, for the tests in test/gpu. Debian 12
// has 22.3, which is too old for Dawn; its backports have a newer one.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PACKAGES = ["mesa-vulkan-drivers", "libvulkan1"];
const LEAST_VERSION = "23";
const LISTS = "/etc/apt/sources.list.d";

/** Installs it, as root, if it is missing or too old. If this fails, tests that need it are skipped. */
export function installLavapipe() {
  if (isThere() || process.getuid?.() !== 0) return;
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(textOf("/etc/os-release"))?.[1];
  if (codename === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "dauys-backports-"));
  try {
    // Use the machine's own mirror; apt reads this list instead of sources.list, in addition to
    // sources.list.d.
    const list = join(folder, "sources.list");
    const backports = `deb ${mirror()} ${codename}-backports main\n`;
    writeFileSync(list, textOf("/etc/apt/sources.list") + (codename === "bookworm" ? backports : ""));
    const target = codename === "bookworm" ? ["-t", `${codename}-backports`] : [];
    const options = ["-o", `Dir::Etc::sourcelist=${list}`, "-q"];
    for (const args of [["update"], ["install", "-y", "--no-install-recommends", ...target, ...PACKAGES]]) {
      const { status, stderr } = spawnSync("apt-get", [...options, ...args], {
        env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
        stdio: ["ignore", "ignore", "pipe"],
        encoding: "utf8",
      });
      if (status === 0) continue;
      console.error(`no software Vulkan, tests of test/gpu are skipped: apt-get ${args[0]}: ${stderr}`);
      return;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isThere() {
  const { stdout } = spawnSync("dpkg-query", ["--show", PACKAGES[0]], { encoding: "utf8" });
  const [, version = ""] = (stdout ?? "").trim().split("\t");
  return (
    version !== "" && spawnSync("dpkg", ["--compare-versions", version, "ge", LEAST_VERSION]).status === 0
  );
}

/** Returns this machine's Debian mirror. */
function mirror() {
  const lists = readdirSync(LISTS)
    .filter((name) => /\.(?:list|sources)$/.test(name))
    .map((name) => textOf(join(LISTS, name)));
  const text = [textOf("/etc/apt/sources.list"), ...lists].join("\n");
  const found = /^(?:URIs:|deb(?: \[[^\]]*\])?)\s+(\S+\/debian\/?)(?:\s|$)/m.exec(text)?.[1];
  return found ?? "http://deb.debian.org/debian";
}

function textOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
