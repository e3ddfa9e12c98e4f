import "./no-telemetry.js";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import { alone, sessionOptionsFor } from "./placed-graph.js";
import type { Placement } from "./placement.js";

/** An ONNX graph of one node: `c = a @ b`, float32 `[2, 2]`. */
const MATRIX_PRODUCT = Buffer.from(
  "CAg6WwoRCgFhCgFiEgFjIgZNYXRNdWwSB3Byb2R1Y3RaEwoBYRIOCgwIARIICgIIAgoCCAJaEwoBYhIOCgwIARIICgIIAgoCCAJiEwoBYxIOCgwIARIICgIIAgoCCAJCBAoAEA0=",
  "base64",
);

/**
 * Runs a matrix product on a provider, which proves more than that its library exists.
 * @throws {ProviderError} `missing`, with the message of the runtime or the driver
 */
export async function probeProvider(placement: Placement): Promise<void> {
  const { provider } = placement;
  try {
    await alone(placement, async () => {
      const session = await InferenceSession.create(MATRIX_PRODUCT, sessionOptionsFor(placement));
      try {
        const matrix = () => new Tensor("float32", [1, 2, 3, 4], [2, 2]);
        const { c } = await session.run({ a: matrix(), b: matrix() });
        const found = [...(c!.data as Float32Array)].join(", ");
        if (found !== "7, 10, 15, 22")
          throw new Error(`a product of 2 by 2 floats must be 7, 10, 15, 22, found ${found}`);
      } finally {
        await session.release();
      }
    });
  } catch (error) {
    throw new ProviderError(provider, "missing", (error as Error).message, { cause: error });
  }
}
