import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DeviceCells } from "../../../native/models/device-cells.js";
import { probeProviders } from "../../../native/threads/probe-providers.js";

const DRIVER = "/usr/share/vulkan/icd.d/lvp_icd.json";
const CACHE = fileURLToPath(new URL("../../../../.cache/webgpu", import.meta.url));

/** The width in bits. With the widest vectors of a processor, LLVM takes twice as long for each shader. */
const VECTOR_WIDTH = "128";

/**
 * Returns the environment for WebGPU on Mesa's software Vulkan, or the reason why it does not run. Also sets
 * the environment of this process. Compiled shaders are kept between runs; without them a run takes three
 * times as long.
 */
export async function lavapipe(): Promise<{
  readonly skip: string | false;
  readonly env: Record<string, string>;
}> {
  const env = {
    VK_ICD_FILENAMES: DRIVER,
    MESA_SHADER_CACHE_DIR: join(CACHE, "shaders"),
    LP_NATIVE_VECTOR_WIDTH: VECTOR_WIDTH,
    XDG_RUNTIME_DIR: join(CACHE, "runtime"),
  };
  if (!existsSync(DRIVER)) return { skip: "Mesa's software Vulkan is not installed", env };
  for (const folder of [env.MESA_SHADER_CACHE_DIR, env.XDG_RUNTIME_DIR])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  Object.assign(process.env, env);
  const reason = (await probeProviders(["webgpu"], [0], DeviceCells.create())).get("webgpu");
  return { skip: reason === undefined ? false : `WebGPU does not run here: ${reason}`, env };
}
