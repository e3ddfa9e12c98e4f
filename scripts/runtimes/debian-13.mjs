// Creates a Debian 13 in a folder for chroot, with mmdebstrap and this system's mirror.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const IN_ROOT = fileURLToPath(new URL("in-root.sh", import.meta.url));
const FOLDER = join(root, ".cache/runtimes/debian-13");
const PUBLIC_MIRROR = "http://deb.debian.org/debian";
const SUITE = "trixie";
/** Packages in addition to the essential ones: Node's libraries, and programs for the attack tests. */
const PACKAGES = ["libstdc++6", "libatomic1", "ca-certificates", "procps", "mount", "util-linux", "iproute2"];
const WITHIN_MS = 540_000;

/** Returns why Debian 13 cannot run here; null if it can. */
export function whyNoDebian13() {
  if (process.platform !== "linux") return "only Linux has chroot with mount namespaces";
  if (process.getuid() !== 0) return "only root can create and enter a Debian 13";
  return spawnSync("unshare", ["--mount", "true"]).status === 0 ? null : "mounts are not allowed here";
}

/** Creates it if it is missing. @returns a prefix for commands that run in it */
export function debian13() {
  if (!existsSync(join(FOLDER, "etc/debian_version"))) make();
  return ["unshare", "--mount", "--propagation", "private", IN_ROOT, FOLDER, root.replace(/\/$/, "")];
}

export function removeDebian13() {
  rmSync(FOLDER, { recursive: true, force: true });
}

function make() {
  bootstrapDebian13(FOLDER, PACKAGES, ["--variant=minbase"]);
}

/** Unpacks packages of Debian 13 and their dependencies into a folder, without running their scripts. */
export function extract(folder, packages, options = []) {
  bootstrapDebian13(folder, packages, ["--variant=extract", ...options]);
}

/** Creates a Debian 13 in a folder. @param options of mmdebstrap */
export function bootstrapDebian13(folder, packages, options) {
  installMissing("mmdebstrap");
  const made = `${folder}.new`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  const arguments_ = [
    ...options,
    "--mode=root",
    `--include=${packages.join(",")}`,
    // Omit translations and documentation.
    "--aptopt=Acquire::Languages none",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    ...aptTransport().map((line) => `--aptopt=${line}`),
    SUITE,
    made,
    mirror(),
  ];
  const { status } = spawnSync("mmdebstrap", arguments_, {
    stdio: ["ignore", "inherit", "inherit"],
    timeout: WITHIN_MS,
  });
  if (status !== 0) {
    rmSync(made, { recursive: true, force: true });
    throw new Error(`mmdebstrap ended with ${status}: no Debian 13`);
  }
  renameSync(made, folder);
}

/** Returns this system's Debian mirror. */
function mirror() {
  const { stdout } = spawnSync(
    "apt-get",
    ["indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(COMPONENT)"],
    {
      encoding: "utf8",
    },
  );
  const found = (stdout ?? "").split("\n").map((line) => /^(\S+?\/debian)\/? Debian main$/.exec(line)?.[1]);
  return found.find((one) => one !== undefined) ?? PUBLIC_MIRROR;
}

/** Returns this system's options for HTTP, such as proxies. */
function aptTransport() {
  const { stdout } = spawnSync("apt-config", ["dump", "Acquire"], { encoding: "utf8" });
  const lines = (stdout ?? "")
    .split("\n")
    .map((line) => /^(Acquire::(?:http|https)::\S+ ".+");$/.exec(line)?.[1]);
  return lines.filter((line) => line !== undefined);
}

/** Installs a package on this system, as root, if it is missing. */
export function installMissing(name) {
  if (spawnSync("dpkg", ["--status", name], { stdio: "ignore" }).status === 0) return;
  for (const args of [
    ["update", "-q"],
    ["install", "-qy", "--no-install-recommends", name],
  ]) {
    const { status } = spawnSync("apt-get", args, {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status !== 0) throw new Error(`apt-get ${args.join(" ")} ended with ${status}`);
  }
}
