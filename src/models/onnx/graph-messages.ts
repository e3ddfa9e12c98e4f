import {
  type Chunks,
  delimited,
  type Field,
  fieldsOf,
  numberOf,
  numbersOf,
  textOf,
  textsOf,
  whole,
} from "./wire.js";

/** Field numbers. @see onnx/onnx at v1.12.0, `onnx/onnx.proto` (never renumbered) */
export const MODEL = { graph: 7, opset: 8 } as const;
export const GRAPH = { node: 1, initializer: 5, input: 11, output: 12 } as const;
const NODE = { input: 1, output: 2, name: 3, op: 4, attribute: 5, domain: 7 } as const;
const ATTRIBUTE = { name: 1, float: 2, int: 3, graph: 6, graphs: 11, type: 20 } as const;
const TENSOR = { dims: 1, type: 2, floats: 4, name: 8, raw: 9, external: 13, location: 14 } as const;
const VALUE = { name: 1 } as const;
const OPSET = { domain: 1, version: 2 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const EXTERNAL = 1;

export const TYPES = { float: 1, uint8: 2, int8: 3, half: 10 } as const;

export interface Node {
  readonly op: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Numeric attributes by name. */
  readonly attributes: ReadonlyMap<string, number>;
  /** Names that nested graphs read, including their own values. */
  readonly innerInputs: readonly string[];
}

/** A constant tensor. Its values are in `field`, or in a side file. */
export interface Initializer {
  readonly name: string;
  readonly type: number;
  readonly dims: readonly number[];
  readonly field: Field;
  /** Null if the bytes are in the graph file. */
  readonly external: ExternalPlace | null;
}

export interface ExternalPlace {
  readonly location: string;
  readonly offset: number;
  /** Null for everything up to the end of the file. */
  readonly length: number | null;
}

export function readNode({ bytes }: Field): Node {
  const fields = fieldsOf(bytes);
  const attributes = fields
    .filter(({ number }) => number === NODE.attribute)
    .map((field) => fieldsOf(field.bytes));
  const domain = textOf(fields, NODE.domain);
  return {
    op:
      domain === "" || domain === "ai.onnx"
        ? textOf(fields, NODE.op)
        : `${domain}.${textOf(fields, NODE.op)}`,
    name: textOf(fields, NODE.name),
    inputs: textsOf(fields, NODE.input),
    outputs: textsOf(fields, NODE.output),
    attributes: new Map(attributes.flatMap(scalarOf)),
    innerInputs: attributes.flatMap(innerInputsOf),
  };
}

export function readInitializer(field: Field): Initializer {
  const fields = fieldsOf(field.bytes);
  const entries = fields
    .filter(({ number }) => number === TENSOR.external)
    .map(({ bytes }) => fieldsOf(bytes));
  const places = new Map(entries.map((entry) => [textOf(entry, ENTRY.key), textOf(entry, ENTRY.value)]));
  const length = places.get("length");
  return {
    name: textOf(fields, TENSOR.name),
    type: numberOf(fields, TENSOR.type),
    dims: numbersOf(fields, TENSOR.dims),
    field,
    external:
      numberOf(fields, TENSOR.location) !== EXTERNAL
        ? null
        : {
            location: places.get("location") ?? "",
            offset: Number(places.get("offset") ?? 0),
            length: length === undefined ? null : Number(length),
          },
  };
}

/** Returns the bytes of a tensor in the graph, little-endian. */
export function contentOf({ field }: Initializer): Uint8Array {
  const fields = fieldsOf(field.bytes);
  // A field of floats is little-endian and packed, as raw data is.
  return (
    fields.find(({ number }) => number === TENSOR.raw || number === TENSOR.floats)?.bytes ?? new Uint8Array()
  );
}

/** Returns the name of a graph's input or output. */
export function valueName({ bytes }: Field): string {
  return textOf(fieldsOf(bytes), VALUE.name);
}

/** Reads an operator set: its domain ("" for the standard one) and version. */
export function readOpset({ bytes }: Field): readonly [domain: string, version: number] {
  const fields = fieldsOf(bytes);
  const domain = textOf(fields, OPSET.domain);
  return [domain === "ai.onnx" ? "" : domain, numberOf(fields, OPSET.version)];
}

export function writeNode(node: {
  readonly op: string;
  readonly domain?: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, number>>;
}): Uint8Array[] {
  const attributes = Object.entries(node.attributes ?? {}).flatMap(([name, value]) =>
    delimited(NODE.attribute, [
      ...delimited(ATTRIBUTE.name, name),
      whole(ATTRIBUTE.int, value),
      whole(ATTRIBUTE.type, 2),
    ]),
  );
  return delimited(GRAPH.node, [
    ...node.inputs.flatMap((input) => delimited(NODE.input, input)),
    ...node.outputs.flatMap((output) => delimited(NODE.output, output)),
    ...delimited(NODE.name, node.outputs[0] ?? ""),
    ...delimited(NODE.op, node.op),
    ...attributes,
    ...(node.domain === undefined ? [] : delimited(NODE.domain, node.domain)),
  ]);
}

export function writeInitializer(tensor: {
  readonly name: string;
  readonly type: number;
  readonly dims: readonly number[];
  readonly content: Chunks;
}): Uint8Array[] {
  return delimited(GRAPH.initializer, [
    ...tensor.dims.map((dim) => whole(TENSOR.dims, dim)),
    whole(TENSOR.type, tensor.type),
    ...delimited(TENSOR.name, tensor.name),
    ...delimited(TENSOR.raw, tensor.content),
  ]);
}

function scalarOf(attribute: readonly Field[]): [string, number][] {
  const name = textOf(attribute, ATTRIBUTE.name);
  const float = attribute.find(({ number }) => number === ATTRIBUTE.float);
  if (float !== undefined) {
    const { buffer, byteOffset, length } = float.raw;
    return [[name, new DataView(buffer, byteOffset + length - 4).getFloat32(0, true)]];
  }
  return attribute.some(({ number }) => number === ATTRIBUTE.int)
    ? [[name, numberOf(attribute, ATTRIBUTE.int)]]
    : [];
}

function innerInputsOf(attribute: readonly Field[]): string[] {
  return attribute
    .filter(({ number }) => number === ATTRIBUTE.graph || number === ATTRIBUTE.graphs)
    .flatMap(({ bytes }) => fieldsOf(bytes))
    .flatMap((field) => {
      if (field.number === GRAPH.output) return [valueName(field)];
      if (field.number !== GRAPH.node) return [];
      const { inputs, innerInputs } = readNode(field);
      return [...inputs, ...innerInputs];
    });
}
