import { ServiceError } from "../errors.js";
import type { Provider } from "./provider.js";

/**
 * `missing`: the provider or its device cannot be used here. `out-of-memory`: an allocation on the device
 * failed; smaller work may succeed. `lost`: the device, or the process's connection to it, will not work
 * again in this process. `other`: a run failed, and the next one may succeed.
 */
export const PROVIDER_ERROR_KINDS = ["missing", "out-of-memory", "lost", "other"] as const;
export type ProviderErrorKind = (typeof PROVIDER_ERROR_KINDS)[number];

/** A failure of a provider other than the CPU, not of the model. */
export class ProviderError extends ServiceError {
  readonly provider: Provider;
  readonly kind: ProviderErrorKind;

  constructor(provider: Provider, kind: ProviderErrorKind, message: string, options?: ErrorOptions) {
    super("WORKER_LOST", message, options);
    this.provider = provider;
    this.kind = kind;
  }
}

/**
 * CUDA errors after which every later call in the process fails (CUDA runtime API, cudaError_t: "the process
 * must be terminated and relaunched"), and those of a lost or broken device. onnxruntime's message is `CUDA
 * failure 700: …` (core/providers/cuda/cuda_call.cc).
 */
const STICKY_CUDA = [46, 100, 101, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999];

/** Messages of a lost device. */
const LOST = [
  // Dawn's loss reasons as onnxruntime logs and throws them: core/providers/webgpu/webgpu_context.cc.
  /device (?:was |is |has been )?lost/i,
  // Vulkan's result, passed on by Dawn.
  /VK_ERROR_DEVICE_LOST/,
  // DXGI_ERROR_DEVICE_REMOVED, _HUNG, _RESET, _DRIVER_INTERNAL_ERROR of DirectML.
  /887A00(?:05|06|07|20)/i,
  // cuDNN and cuBLAS after a sticky error: CUBLAS_STATUS_EXECUTION_FAILED, CUDNN_STATUS_EXECUTION_FAILED.
  /(?:CUBLAS|CUDNN)_STATUS_EXECUTION_FAILED/,
];

/** Messages of a device without memory. */
const OUT_OF_MEMORY = [
  // cudaErrorMemoryAllocation.
  /CUDA failure 2\b/,
  // onnxruntime's arena: core/framework/bfc_arena.cc.
  /failed to allocate memory for requested buffer/i,
  /(?:CUBLAS|CUDNN)_STATUS_ALLOC_FAILED/,
  /out of (?:device )?memory/i,
  // VK_ERROR_OUT_OF_DEVICE_MEMORY and _HOST_MEMORY; E_OUTOFMEMORY of DirectML.
  /VK_ERROR_OUT_OF_(?:DEVICE|HOST)_MEMORY/,
  /8007000E/i,
  // A tensor exceeds WebGPU's limits. The first message is onnxruntime's, which binds the tensor in too many
  // parts (core/providers/webgpu/shader_helper.cc); the other two are Dawn's, for a buffer.
  /too many storage buffers in shader/i,
  /exceeds the max buffer size/i,
  /larger than the maximum (?:binding|buffer) size/i,
];

/** Classifies a failed run by the runtime's message, because it has no error codes in JavaScript. */
export function kindOfRunError(message: string): ProviderErrorKind {
  const cuda = /CUDA failure (\d+)/.exec(message)?.[1];
  if (cuda !== undefined && STICKY_CUDA.includes(Number(cuda))) return "lost";
  if (OUT_OF_MEMORY.some((pattern) => pattern.test(message))) return "out-of-memory";
  return LOST.some((pattern) => pattern.test(message)) ? "lost" : "other";
}
