/** What runs graphs, by the names that users know: onnxruntime's execution providers. */
export const PROVIDERS = ["cpu", "cuda", "webgpu", "coreml", "dml"] as const;

export type Provider = (typeof PROVIDERS)[number];

/** Providers that take the number of a device; the others have one, which they choose. */
const NUMBERED: readonly Provider[] = ["cuda", "dml"];

export function takesDevice(provider: Provider): boolean {
  return NUMBERED.includes(provider);
}

/** Where a worker runs its graphs. It is decided outside of the worker, which is told. */
export interface Place {
  readonly provider: Provider;
  /** Null for a provider that takes none. */
  readonly device: number | null;
}

export const ON_CPU: Place = { provider: "cpu", device: null };

/**
 * Whether a provider prepares kernels for each shape that it meets, so that the first run of a shape is slow. WebGPU's take
 * shapes as arguments.
 */
export function preparesShapes(provider: Provider): boolean {
  return provider !== "cpu" && provider !== "webgpu";
}

/** A place as logs and metrics show its device. */
export function deviceName({ device }: Place): string {
  return device === null ? "default" : String(device);
}
