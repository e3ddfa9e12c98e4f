import { ServiceError } from "../../../core/domain/errors.js";
import {
  contentOf,
  type ExternalPlace,
  GRAPH,
  type Initializer,
  MODEL,
  type Node,
  readInitializer,
  readNode,
  readOpset,
  TYPES,
  valueName,
  writeInitializer,
  writeNode,
} from "./graph-messages.js";
import { type Matrix, quantizeColumns } from "./weights.js";
import { delimited, type Field, fieldsOf } from "./wire.js";

/** DynamicQuantizeLinear came with it. */
const LOWEST_OPSET = 11;
/** Smaller matrices cost more to be quantized around than they save. */
const SMALLEST_WEIGHTS = 256;

export interface QuantizeGraphOptions {
  /** Bits of weights: 7 for any processor, 8 where it has VNNI or is an ARM. */
  readonly weightBits: 7 | 8;
  /** Bytes of a tensor that lies beside the graph. */
  readonly readExternal: (place: ExternalPlace) => Promise<Uint8Array>;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface QuantizedGraph {
  /** The file in parts, which refer to the bytes that were read. */
  readonly chunks: readonly Uint8Array[];
  /** Products that are int8 now. */
  readonly products: number;
}

/** A product whose right side is constant. */
interface Product {
  readonly node: Node;
  readonly weights: string;
  readonly isTransposed: boolean;
  readonly bias: string | null;
}

/**
 * The same graph with int8 weights in its matrix products (MatMul, and Gemm without factors) by constant matrices. What
 * stands beside them, convolutions above all, stays as it is. Weights have a step for each column; the other side is
 * quantized when it is there, 8 bits over the whole tensor, so that a result depends on the rest of its batch.
 *
 * @param bytes an ONNX file, of operator set 11 or newer
 * @throws {ServiceError} `MODEL_BROKEN` saying why the file cannot be taken
 */
export async function quantizeGraph(
  bytes: Uint8Array,
  options: QuantizeGraphOptions,
): Promise<QuantizedGraph> {
  const model = readModel(bytes);
  const graph = model.fields.find(({ number }) => number === MODEL.graph);
  if (graph === undefined) throw broken("it holds no graph");
  const fields = fieldsOf(graph.bytes);
  const nodes = fields.filter(({ number }) => number === GRAPH.node).map(readNode);
  const initializers = new Map(
    fields
      .filter(({ number }) => number === GRAPH.initializer)
      .map(readInitializer)
      .map((initializer) => [initializer.name, initializer]),
  );
  const inputs = new Set(fields.filter(({ number }) => number === GRAPH.input).map(valueName));
  const products = nodes.map((node) => productOf(node, initializers, inputs));
  const total = products.filter((product) => product !== null).length;
  const stillRead = readElsewhere(nodes, products, fields);
  const written: Uint8Array[] = [];
  const weights = new Map<string, QuantizedWeights>();
  const activations = new Set<string>();
  let node = 0;
  let done = 0;
  for (const field of fields) {
    const product = field.number === GRAPH.node ? products[node++]! : null;
    if (product !== null) {
      const key = `${product.weights}${product.isTransposed ? ".transposed" : ""}`;
      const known = weights.get(key);
      const quantized =
        known ?? (await quantizeWeights(initializers.get(product.weights)!, product, key, options));
      weights.set(key, quantized);
      if (known === undefined) written.push(...quantized.initializers);
      written.push(...writeProduct(product, quantized, activations));
      options.onProgress?.(++done, total);
    } else if (field.number === GRAPH.initializer) {
      const initializer = readInitializer(field);
      const isGone =
        products.some((found) => found?.weights === initializer.name) && !stillRead.has(initializer.name);
      if (!isGone) written.push(...(await inlined(initializer, options)));
    } else written.push(field.raw);
  }
  const chunks = model.fields.flatMap((field) =>
    field.number === MODEL.graph ? delimited(MODEL.graph, written) : [field.raw],
  );
  return { chunks, products: total };
}

interface QuantizedWeights {
  readonly values: string;
  readonly scales: string;
  readonly initializers: readonly Uint8Array[];
}

function readModel(bytes: Uint8Array): { readonly fields: readonly Field[] } {
  let fields: Field[];
  let version: number;
  try {
    fields = fieldsOf(bytes);
    const opsets = fields.filter(({ number }) => number === MODEL.opset).map(readOpset);
    version = opsets.find(([domain]) => domain === "")?.[1] ?? 0;
  } catch (error) {
    throw broken(`it is no ONNX file: ${(error as Error).message}`, error);
  }
  if (version < LOWEST_OPSET)
    throw broken(`its operator set must be ${LOWEST_OPSET} or newer, found ${version}`);
  return { fields };
}

function productOf(
  node: Node,
  initializers: ReadonlyMap<string, Initializer>,
  inputs: ReadonlySet<string>,
): Product | null {
  const [left = "", weights = "", bias = null] = node.inputs;
  if (node.op !== "MatMul" && node.op !== "Gemm") return null;
  const { alpha = 1, beta = 1, transA = 0, transB = 0 } = Object.fromEntries(node.attributes);
  if (alpha !== 1 || beta !== 1 || transA !== 0 || initializers.has(left)) return null;
  const initializer = initializers.get(weights);
  // What is an input too may be given with a request.
  if (initializer === undefined || inputs.has(weights)) return null;
  const { type, dims } = initializer;
  const [first = 0, second = 0] = dims;
  if (type !== TYPES.float || dims.length !== 2 || first * second < SMALLEST_WEIGHTS) return null;
  return { node, weights, isTransposed: transB === 1, bias: bias === "" ? null : bias };
}

/** Constants that something but the products reads. */
function readElsewhere(
  nodes: readonly Node[],
  products: readonly (Product | null)[],
  fields: readonly Field[],
): Set<string> {
  const names = nodes.flatMap((node, index) => {
    const weights = products[index]?.weights;
    return [...node.inputs.filter((input) => input !== weights), ...node.innerInputs];
  });
  return new Set([...names, ...fields.filter(({ number }) => number === GRAPH.output).map(valueName)]);
}

async function quantizeWeights(
  initializer: Initializer,
  { isTransposed }: Product,
  key: string,
  { weightBits, readExternal }: QuantizeGraphOptions,
): Promise<QuantizedWeights> {
  const { external, dims, name } = initializer;
  const content = external === null ? contentOf(initializer) : await readExternal(external);
  const [first = 0, second = 0] = dims;
  if (content.length !== 4 * first * second) {
    throw broken(`${name} must hold ${4 * first * second} bytes, found ${content.length}`);
  }
  const [rows, columns] = isTransposed ? [second, first] : [first, second];
  // A copy of its own lies where floats may.
  const values = new Float32Array(new Uint8Array(content).buffer);
  const matrix: Matrix = { values, rows, columns, isTransposed };
  const quantized = quantizeColumns(matrix, 2 ** (weightBits - 1) - 1);
  const names = { values: `${key}.int8`, scales: `${key}.scales` };
  return {
    ...names,
    initializers: [
      ...writeInitializer({
        name: names.values,
        type: TYPES.int8,
        dims: [rows, columns],
        content: [bytesOf(quantized.values)],
      }),
      ...writeInitializer({
        name: names.scales,
        type: TYPES.float,
        dims: [columns],
        content: [bytesOf(quantized.scales)],
      }),
    ],
  };
}

/** The nodes of a product, in the form that onnxruntime fuses into one; a tensor is quantized once for all its products. */
function writeProduct(
  { node, bias }: Product,
  { values, scales }: QuantizedWeights,
  activations: Set<string>,
): Uint8Array[] {
  const [left = ""] = node.inputs;
  const [output = ""] = node.outputs;
  const quantized = [`${left}.uint8`, `${left}.scale`, `${left}.zero`];
  const [integers, scale, sums, product] = ["integers", "scale", "sums", "product"].map(
    (part) => `${output}.${part}`,
  );
  const result = bias === null ? output : product!;
  const isQuantized = activations.has(left);
  activations.add(left);
  return [
    ...(isQuantized ? [] : writeNode({ op: "DynamicQuantizeLinear", inputs: [left], outputs: quantized })),
    ...writeNode({
      op: "MatMulInteger",
      inputs: [quantized[0]!, values, quantized[2]!],
      outputs: [integers!],
    }),
    ...writeNode({ op: "Cast", inputs: [integers!], outputs: [sums!], attributes: { to: TYPES.float } }),
    ...writeNode({ op: "Mul", inputs: [quantized[1]!, scales], outputs: [scale!] }),
    ...writeNode({ op: "Mul", inputs: [sums!, scale!], outputs: [result] }),
    ...(bias === null ? [] : writeNode({ op: "Add", inputs: [result, bias], outputs: [output] })),
  ];
}

/** A constant as it was, but inside the graph. */
async function inlined(
  initializer: Initializer,
  { readExternal }: QuantizeGraphOptions,
): Promise<Uint8Array[]> {
  const { name, type, dims, external, field } = initializer;
  if (external === null) return [field.raw];
  return writeInitializer({ name, type, dims, content: [await readExternal(external)] });
}

function bytesOf({ buffer, byteOffset, byteLength }: Int8Array | Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function broken(reason: string, cause?: unknown): ServiceError {
  return new ServiceError("MODEL_BROKEN", `Cannot quantize: ${reason}`, { cause });
}
