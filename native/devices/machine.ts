import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { env, listSupportedBackends } from "onnxruntime-node";
import type { Place } from "../../core/domain/placement/provider.js";

const run = promisify(execFile);

export interface FoundLibrary {
  readonly name: string;
  /** Path found by the loader; null if there is none. */
  readonly path: string | null;
  /** Installation command. */
  readonly bring: string;
}

export interface MachineFacts {
  readonly node: string;
  readonly platform: string;
  readonly onnxruntime: string;
  /** Providers of the runtime's build, and whether they are bundled. */
  readonly backends: readonly { readonly name: string; readonly bundled: boolean }[];
  readonly nvidia: readonly { readonly name: string; readonly driver: string; readonly memory: string }[];
  readonly cuda: readonly FoundLibrary[];
  readonly vulkan: readonly FoundLibrary[];
  /** Description files of Vulkan drivers. */
  readonly vulkanDrivers: readonly string[];
}

/** This release of onnxruntime links to CUDA 13 and cuDNN 9. */
const CUDA_REPOSITORY = "NVIDIA's repository (docs/operations.md)";
const CUDA_LIBRARIES = [
  ["libcuda.so.1", "NVIDIA's driver, 580 or newer: apt-get install nvidia-driver"],
  ["libcudart.so.13", `apt-get install cuda-cudart-13-0, from ${CUDA_REPOSITORY}`],
  ["libcublas.so.13", `apt-get install libcublas-13-0, from ${CUDA_REPOSITORY}`],
  ["libcublasLt.so.13", `apt-get install libcublas-13-0, from ${CUDA_REPOSITORY}`],
  ["libcurand.so.10", `apt-get install libcurand-13-0, from ${CUDA_REPOSITORY}`],
  ["libcufft.so.12", `apt-get install libcufft-13-0, from ${CUDA_REPOSITORY}`],
  ["libcudnn.so.9", `apt-get install cudnn9-cuda-13, from ${CUDA_REPOSITORY}`],
  [
    "libonnxruntime_providers_cuda.so",
    "ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js",
  ],
] as const;
const VULKAN_LIBRARIES = [["libvulkan.so.1", "apt-get install libvulkan1"]] as const;
const VULKAN_FOLDERS = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

/** Collects the machine's providers, devices, drivers and libraries for graphs. */
export async function machineFacts(): Promise<MachineFacts> {
  const known = await loaderCache();
  const drivers = await vulkanDrivers();
  const find = async (libraries: readonly (readonly [name: string, bring: string])[]) =>
    await Promise.all(
      libraries.map(async ([name, bring]) => ({ name, bring, path: await libraryPath(name, known) })),
    );
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    onnxruntime: env.versions.node ?? "unknown",
    backends: listSupportedBackends().map(({ name, bundled }) => ({ name, bundled })),
    nvidia: await nvidiaDevices(),
    cuda: await find(CUDA_LIBRARIES),
    vulkan: [
      ...(await find(VULKAN_LIBRARIES)),
      {
        name: "a Vulkan driver",
        path: drivers[0] ?? null,
        bring:
          "your card's driver; software driver: apt-get install -t bookworm-backports " +
          "mesa-vulkan-drivers",
      },
    ],
    vulkanDrivers: drivers,
  };
}

/** Returns the name of a place's device; null if unknown. */
export async function deviceNameOf({ provider, device }: Place): Promise<string | null> {
  if (provider !== "cuda") return null;
  return (await nvidiaDevices())[device ?? 0]?.name ?? null;
}

async function nvidiaDevices(): Promise<MachineFacts["nvidia"]> {
  const query = ["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"];
  const text = await run("nvidia-smi", query).then(
    ({ stdout }) => stdout.trim(),
    // There is no driver or no nvidia-smi.
    () => "",
  );
  const lines = text === "" ? [] : text.split("\n");
  return lines.map((line) => {
    const [name = "", driver = "", memory = ""] = line.split(", ");
    return { name, driver, memory };
  });
}

/** Returns the paths of libraries by name, from `ldconfig -p`; empty without it. */
async function loaderCache(): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await run("/sbin/ldconfig", ["-p"]).catch(() => ({ stdout: "" }));
  const found = [...stdout.matchAll(/^\t(\S+) \([^)\n]*\) => (\S+)$/gm)];
  return new Map(found.map(([, name = "", path = ""]) => [name, path]));
}

/** Finds a library as the loader does: first in LD_LIBRARY_PATH; providers also next to the runtime. */
async function libraryPath(name: string, known: ReadonlyMap<string, string>): Promise<string | null> {
  const folders = (process.env["LD_LIBRARY_PATH"] ?? "").split(":").filter((folder) => folder !== "");
  const isProvider = name.startsWith("libonnxruntime");
  for (const folder of [...folders, ...(isProvider ? await runtimeFolders() : [])]) {
    const entries = await readdir(folder).catch((): string[] => []);
    if (entries.includes(name)) return join(folder, name);
  }
  return known.get(name) ?? null;
}

/** Returns the folder from which this process has loaded the runtime. */
async function runtimeFolders(): Promise<readonly string[]> {
  const maps = await readFile("/proc/self/maps", "utf8").catch(() => "");
  const paths = [...maps.matchAll(/ (\/\S*)\/libonnxruntime\.so[.\d]*$/gm)].map(([, folder = ""]) => folder);
  return [...new Set(paths)];
}

async function vulkanDrivers(): Promise<readonly string[]> {
  const named = process.env["VK_DRIVER_FILES"] ?? process.env["VK_ICD_FILENAMES"];
  if (named !== undefined && named !== "") return named.split(":").filter((path) => existsSync(path));
  const found = await Promise.all(
    VULKAN_FOLDERS.map(async (folder) =>
      (await readdir(folder).catch((): string[] => [])).map((file) => join(folder, file)),
    ),
  );
  return found.flat().sort();
}
