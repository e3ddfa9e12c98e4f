/** onnxruntime's execution providers, by their common names. */
export const PROVIDERS = ["cpu", "cuda", "webgpu", "coreml", "dml"] as const;

export type Provider = (typeof PROVIDERS)[number];

/** Providers with a device number; the others choose their device. */
const NUMBERED: readonly Provider[] = ["cuda", "dml"];

export function takesDevice(provider: Provider): boolean {
  return NUMBERED.includes(provider);
}

/** Where a worker runs its graphs. */
export interface Place {
  readonly provider: Provider;
  /** Null for a provider without device numbers. */
  readonly device: number | null;
}

export const ON_CPU: Place = { provider: "cpu", device: null };

/** Returns whether the first run of each shape is slow, because the provider prepares kernels for it. */
export function preparesShapes(provider: Provider): boolean {
  return provider !== "cpu" && provider !== "webgpu";
}

/** Name of a place's device in logs and metrics. */
export function deviceName({ device }: Place): string {
  return device === null ? "default" : String(device);
}
