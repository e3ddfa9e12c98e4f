import { type InferenceSession, Tensor } from "onnxruntime-node";
import { deviceName, type Place, takesDevice } from "../../core/domain/placement/provider.js";
import { kindOfRunError, ProviderError } from "../../core/domain/placement/provider-error.js";
import { DeviceCells } from "./device-cells.js";
import { type Graph, type GraphContract, rowsOf } from "./graph-interface.js";
import type { Placement } from "./placement.js";
import type { OnRun } from "./run-times.js";

/** Logs only errors, because the runtime warns about every node that it leaves on the CPU. */
const ERRORS_ALONE = 3;

interface PlacedGraphParts {
  readonly name: string;
  readonly contract: GraphContract;
  readonly placement: Placement;
  readonly onRun: OnRun | null;
}

/** A graph off the CPU. Runs throw `ProviderError`; if memory is insufficient, rows run in two halves. */
export class PlacedGraph implements Graph {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly outputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly #session: InferenceSession;
  readonly #parts: PlacedGraphParts;
  readonly #cells: DeviceCells;

  private constructor(session: InferenceSession, parts: PlacedGraphParts) {
    this.#session = session;
    this.#parts = parts;
    this.#cells = new DeviceCells(parts.placement.cells);
    ({
      inputNames: this.inputNames,
      outputNames: this.outputNames,
      inputMetadata: this.inputMetadata,
      outputMetadata: this.outputMetadata,
    } = session);
  }

  /** @throws {ProviderError} `missing` with the provider, the graph and the runtime's message */
  static async create({
    create,
    ...parts
  }: PlacedGraphParts & {
    readonly create: (options: InferenceSession.SessionOptions) => Promise<InferenceSession>;
  }): Promise<PlacedGraph> {
    const { name, placement } = parts;
    try {
      const session = await alone(placement, () => create(sessionOptionsFor(placement)));
      return new PlacedGraph(session, parts);
    } catch (error) {
      new DeviceCells(placement.cells).countError("missing");
      throw cannot(`load ${name}`, placement, "missing", error);
    }
  }

  async run(
    feeds: InferenceSession.FeedsType,
    fetches?: InferenceSession.FetchesType,
  ): Promise<InferenceSession.ReturnType> {
    const { name, contract, placement } = this.#parts;
    try {
      return await this.#runOnce(feeds, fetches);
    } catch (error) {
      const kind = kindOfRunError((error as Error).message);
      this.#cells.countError(kind);
      const rows = rowsOf(feeds);
      if (kind !== "out-of-memory" || contract.isRowwise !== true || rows < 2)
        throw cannot(`run ${name}`, placement, kind, error);
      return this.#runInHalves(feeds, fetches, rows);
    }
  }

  release(): Promise<void> {
    return alone(this.#parts.placement, () => this.#session.release());
  }

  #runOnce(
    feeds: InferenceSession.FeedsType,
    fetches: InferenceSession.FetchesType | undefined,
  ): Promise<InferenceSession.ReturnType> {
    const { placement, onRun } = this.#parts;
    return alone(placement, async () => {
      const startedAtMs = performance.now();
      const answer =
        fetches === undefined ? await this.#session.run(feeds) : await this.#session.run(feeds, fetches);
      const ms = performance.now() - startedAtMs;
      this.#cells.addBusy(placement.device, Math.round(ms * 1_000));
      onRun?.(ms, rowsOf(feeds));
      return answer;
    });
  }

  async #runInHalves(
    feeds: InferenceSession.FeedsType,
    fetches: InferenceSession.FetchesType | undefined,
    rows: number,
  ): Promise<InferenceSession.ReturnType> {
    const half = Math.ceil(rows / 2);
    const first = await this.run(someRows(feeds, 0, half), fetchedRows(fetches, 0, half));
    const second = await this.run(someRows(feeds, half, rows), fetchedRows(fetches, half, rows));
    // The run wrote preallocated outputs in place.
    if (fetches !== undefined && !isNames(fetches)) return fetches as InferenceSession.ReturnType;
    return Object.fromEntries(
      Object.entries(first).map(([name, value]) => [name, stacked(value as Tensor, second[name] as Tensor)]),
    );
  }
}

/** Makes session options for a provider off the CPU; operators that it lacks run on the CPU. */
export function sessionOptionsFor({ provider, device }: Place): InferenceSession.SessionOptions {
  const name = { name: provider } as InferenceSession.ExecutionProviderConfig;
  const numbered = { name: provider, deviceId: device ?? 0 } as InferenceSession.ExecutionProviderConfig;
  return { executionProviders: [takesDevice(provider) ? numbered : name], logSeverityLevel: ERRORS_ALONE };
}

/** Runs work under the lock that WebGPU needs: it is not thread-safe. */
export function alone<T>({ provider, thread, cells }: Placement, work: () => Promise<T>): Promise<T> {
  return provider === "webgpu" ? new DeviceCells(cells).holdingLock(thread, work) : work();
}

function cannot(
  what: string,
  placement: Placement,
  kind: ProviderError["kind"],
  cause: unknown,
): ProviderError {
  const where = takesDevice(placement.provider)
    ? `${placement.provider} (device ${deviceName(placement)})`
    : placement.provider;
  const message = `Cannot ${what} on ${where}: ${(cause as Error).message}`;
  return new ProviderError(placement.provider, kind, message, { cause });
}

function isNames(fetches: InferenceSession.FetchesType): fetches is readonly string[] {
  return Array.isArray(fetches);
}

function fetchedRows(
  fetches: InferenceSession.FetchesType | undefined,
  start: number,
  end: number,
): InferenceSession.FetchesType | undefined {
  if (fetches === undefined || isNames(fetches)) return fetches;
  return someRows(fetches as InferenceSession.FeedsType, start, end);
}

function someRows(tensors: InferenceSession.FeedsType, start: number, end: number): Record<string, Tensor> {
  const part = ({ type, data, dims }: Tensor): Tensor => {
    const [rows = 1, ...widths] = dims;
    const size = data.length / rows;
    const values = (data as Float32Array).subarray(start * size, end * size);
    return new Tensor(type as "float32", values, [end - start, ...widths]);
  };
  return Object.fromEntries(Object.entries(tensors).map(([name, value]) => [name, part(value as Tensor)]));
}

function stacked(first: Tensor, second: Tensor): Tensor {
  const [one, other] = [first.data as Float32Array, second.data as Float32Array];
  const values = new (one.constructor as Float32ArrayConstructor)(one.length + other.length);
  values.set(one);
  values.set(other, one.length);
  const [rows = 0, ...widths] = first.dims;
  return new Tensor(first.type as "float32", values, [rows + (second.dims[0] ?? 0), ...widths]);
}
