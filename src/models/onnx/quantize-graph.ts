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
import { floatsOfHalves, type Matrix, quantizeColumns } from "./weights.js";
import { delimited, type Field, fieldsOf } from "./wire.js";

/** The first opset that has DynamicQuantizeLinear. */
const LOWEST_OPSET = 11;
/** Smaller matrices save less than the additional nodes cost. */
const SMALLEST_WEIGHTS = 256;

export interface QuantizeGraphOptions {
  /** Bits per weight: 7 for any processor, 8 for ARM and x86 with VNNI. */
  readonly weightBits: 7 | 8;
  /** Reads a tensor's bytes from a side file. */
  readonly readExternal: (place: ExternalPlace) => Promise<Uint8Array>;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface QuantizedGraph {
  /** The file in parts, which are views of the input where possible. */
  readonly chunks: readonly Uint8Array[];
  /** Number of quantized products. */
  readonly products: number;
}

/** A matrix product whose right side is constant. */
interface Product {
  readonly node: Node;
  readonly weights: string;
  readonly isTransposed: boolean;
  readonly bias: string | null;
  /** Whether its tensors are in half precision. */
  readonly isHalf: boolean;
}

/** Half-precision tensors that the graph also has, or will have, in fp32. */
interface Halves {
  /** By tensor: what a Cast made it from. */
  readonly sources: ReadonlyMap<string, string>;
  /** By output of a product: its name in fp32. */
  readonly results: ReadonlyMap<string, string>;
}

/**
 * Quantizes the constant matrices of matrix products (MatMul, and Gemm without factors) to int8, those in half
 * precision too. Everything else, such as convolutions, stays unchanged. Weights have one scale per column.
 * The other side is quantized at run time to 8 bits, with one scale for the whole tensor, so a result depends
 * on the rest of its batch.
 *
 * @param bytes an ONNX file with operator set 11 or newer
 * @throws {ServiceError} `MODEL_BROKEN` if the file cannot be quantized
 */
export async function quantizeGraph(
  bytes: Uint8Array,
  options: QuantizeGraphOptions,
): Promise<QuantizedGraph> {
  const model = readModel(bytes);
  const graph = model.fields.find(({ number }) => number === MODEL.graph);
  if (graph === undefined) throw broken("it has no graph");
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
  const halves = halvesOf(nodes, products);
  let node = 0;
  let done = 0;
  for (const field of fields) {
    const index = field.number === GRAPH.node ? node++ : -1;
    const product = products[index] ?? null;
    const fromHalf = index < 0 ? null : castFromHalf(nodes[index]!, halves);
    if (fromHalf !== null) written.push(...fromHalf);
    else if (product !== null) {
      const key = `${product.weights}${product.isTransposed ? ".transposed" : ""}`;
      const known = weights.get(key);
      const quantized =
        known ?? (await quantizeWeights(initializers.get(product.weights)!, product, key, options));
      weights.set(key, quantized);
      if (known === undefined) written.push(...quantized.initializers);
      written.push(...writeProduct(product, quantized, activations, halves));
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
    throw broken(`it is not an ONNX file: ${(error as Error).message}`, error);
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
  // A request may override an initializer that is also an input.
  if (initializer === undefined || inputs.has(weights)) return null;
  const { type, dims } = initializer;
  const [first = 0, second = 0] = dims;
  const isHalf = type === TYPES.half;
  if (!(isHalf || type === TYPES.float) || dims.length !== 2 || first * second < SMALLEST_WEIGHTS)
    return null;
  return { node, weights, isTransposed: transB === 1, bias: bias === "" ? null : bias, isHalf };
}

function halvesOf(nodes: readonly Node[], products: readonly (Product | null)[]): Halves {
  const casts = nodes.filter(({ op, attributes }) => op === "Cast" && attributes.get("to") === TYPES.half);
  const outputs = products.flatMap((product) => (product?.isHalf === true ? product.node.outputs : []));
  return {
    sources: new Map(casts.map(({ inputs, outputs }) => [outputs[0]!, inputs[0]!])),
    results: new Map(outputs.map((name) => [name, `${name}.float`])),
  };
}

/** Writes a Cast of a half-precision product to fp32, which reads the fp32 result; null for other nodes. */
function castFromHalf({ op, inputs, outputs, attributes }: Node, { results }: Halves): Uint8Array[] | null {
  const result = results.get(inputs[0] ?? "");
  if (op !== "Cast" || attributes.get("to") !== TYPES.float || result === undefined) return null;
  return writeNode({ op, inputs: [result], outputs, attributes: { to: TYPES.float } });
}

/** Names that nodes other than the products also read. */
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
  { isTransposed, isHalf }: Product,
  key: string,
  { weightBits, readExternal }: QuantizeGraphOptions,
): Promise<QuantizedWeights> {
  const { external, dims, name } = initializer;
  const content = external === null ? contentOf(initializer) : await readExternal(external);
  const [first = 0, second = 0] = dims;
  const byteCount = (isHalf ? 2 : 4) * first * second;
  if (content.length !== byteCount) {
    throw broken(`${name} must have ${byteCount} bytes, found ${content.length}`);
  }
  const [rows, columns] = isTransposed ? [second, first] : [first, second];
  // Copy the bytes, because numbers need an aligned buffer.
  const { buffer } = new Uint8Array(content);
  const values = isHalf ? floatsOfHalves(new Uint16Array(buffer)) : new Float32Array(buffer);
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

/**
 * Writes a product's nodes in the form that onnxruntime fuses. A tensor is quantized once for all products.
 * Tensors in half precision are converted around the product; the runtime drops a Cast from fp32 to fp32.
 */
function writeProduct(
  { node, bias, isHalf }: Product,
  { values, scales }: QuantizedWeights,
  activations: Set<string>,
  { sources, results }: Halves,
): Uint8Array[] {
  const [given = ""] = node.inputs;
  const [half = ""] = node.outputs;
  const source = sources.get(given) ?? given;
  // A product's own fp32 result needs no Cast.
  const known = results.get(source);
  const left = isHalf ? (known ?? `${source}.float`) : given;
  const output = results.get(half) ?? half;
  // Unlike the parts of `output`, since one product may read another one's output.
  const quantized = [`${left}.uint8`, `${left}.uint8.scale`, `${left}.uint8.zero`];
  const [integers, scale, sums, product, addend] = ["integers", "scale", "sums", "product", "addend"].map(
    (part) => `${output}.${part}`,
  );
  const result = bias === null ? output : product!;
  const isQuantized = activations.has(left);
  activations.add(left);
  const cast = (from: string, into: string, to: number) =>
    writeNode({ op: "Cast", inputs: [from], outputs: [into], attributes: { to } });
  return [
    ...(isHalf && !isQuantized && known === undefined ? cast(source, left, TYPES.float) : []),
    ...(isQuantized ? [] : writeNode({ op: "DynamicQuantizeLinear", inputs: [left], outputs: quantized })),
    ...writeNode({
      op: "MatMulInteger",
      inputs: [quantized[0]!, values, quantized[2]!],
      outputs: [integers!],
    }),
    ...cast(integers!, sums!, TYPES.float),
    ...writeNode({ op: "Mul", inputs: [quantized[1]!, scales], outputs: [scale!] }),
    ...writeNode({ op: "Mul", inputs: [sums!, scale!], outputs: [result] }),
    ...(bias !== null && isHalf ? cast(bias, addend!, TYPES.float) : []),
    ...(bias === null
      ? []
      : writeNode({ op: "Add", inputs: [result, isHalf ? addend! : bias], outputs: [output] })),
    ...(isHalf ? cast(output, half, TYPES.half) : []),
  ];
}

/** Writes a constant. If it is in a side file, moves it into the graph. */
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
