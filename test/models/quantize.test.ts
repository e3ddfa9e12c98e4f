import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { ServiceError } from "../../core/domain/errors.js";
import { recognizerFamilyOf } from "../../native/models/families.js";
import { readPackage } from "../../native/models/find-packages.js";
import type { LogProbs } from "../../native/models/log-probs.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import {
  contentOf,
  GRAPH,
  MODEL,
  readInitializer,
  readNode,
  TYPES,
  writeInitializer,
  writeNode,
} from "../../src/models/onnx/graph-messages.js";
import { quantizeGraph } from "../../src/models/onnx/quantize-graph.js";
import { floatsOfHalves, quantizeColumns } from "../../src/models/onnx/weights.js";
import { delimited, fieldsOf, whole } from "../../src/models/onnx/wire.js";
import { quantizePackage } from "../../src/models/quantize.js";
import { changeManifest, copyOfPackage, type Json, temporaryFolder } from "../support/folders.js";
import * as fc from "../support/properties.js";

const FOLDER = "test/fixtures/adapters/";
/** The recognisers whose tiny graphs have matrix products. */
const WITH_PRODUCTS = ["tiny-nemo-streaming-ctc", "tiny-zipformer2-ctc"];

async function decode(folder: string): Promise<LogProbs & { readonly width: number }> {
  const found = await readPackage<RecognizerManifest>(folder, "transcription");
  const model = await recognizerFamilyOf(found.manifest).load(found, { intraOpThreads: 1 });
  const pcm = Float32Array.from(
    { length: 64_000 },
    (_, i) => 0.3 * Math.sin(i * i * 2e-6 + 3 * Math.sin(i / 4_000)),
  );
  const decoded = await model.decodeUtterance(pcm);
  await model.release();
  return { ...decoded, width: model.vocabulary.length };
}

function bestOf(
  { logProbs, width }: { readonly logProbs: Float32Array; readonly width: number },
  row: number,
): number {
  const values = logProbs.subarray(row * width, (row + 1) * width);
  return values.indexOf(Math.max(...values));
}

async function graphOf(folder: string) {
  const model = fieldsOf(await readFile(join(folder, "model.onnx")));
  return fieldsOf(model.find(({ number }) => number === MODEL.graph)!.bytes);
}

async function operatorsOf(folder: string): Promise<string[]> {
  return (await graphOf(folder))
    .filter(({ number }) => number === GRAPH.node)
    .map((field) => readNode(field).op);
}

function broken(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, pattern);
    return true;
  };
}

for (const id of WITH_PRODUCTS) {
  test(`the int8 variant of ${id} transcribes like the package`, async () => {
    const out = join(await temporaryFolder(), "out");
    const seen: number[] = [];
    const made = await quantizePackage(FOLDER + id, out, { onProgress: ({ done }) => seen.push(done) });
    assert.equal(made.id, `${id}-int8`);
    assert.deepEqual(
      seen,
      Array.from({ length: made.products }, (_, i) => i + 1),
    );
    const [fp32, int8] = [await decode(FOLDER + id), await decode(out)];
    assert.equal(int8.frames, fp32.frames);
    const rows = Array.from({ length: fp32.frames }, (_, row) => row);
    const same = rows.filter((row) => bestOf(fp32, row) === bestOf(int8, row)).length;
    // Random weights leave some rows nearly undecided. A trained head is more certain.
    assert.ok(same >= 0.95 * rows.length, `${same} of ${rows.length} rows agree`);
    const away = fp32.logProbs.map((logProb, i) => Math.abs(logProb - int8.logProbs[i]!));
    const mean = away.reduce((sum, value) => sum + value, 0) / away.length;
    // The values range from 0 to about 15, with 7 bits for weights and 8 for the other side.
    assert.ok(mean > 0 && mean < 0.15, `log-probs are ${mean} away`);
  });
}

test("only matrix products become integer products", async () => {
  const out = join(await temporaryFolder(), "out");
  const { products, bytesBefore, bytesAfter } = await quantizePackage(`${FOLDER}tiny-zipformer2-ctc`, out);
  const [before, after] = [await operatorsOf(`${FOLDER}tiny-zipformer2-ctc`), await operatorsOf(out)];
  const count = (operators: readonly string[], ...names: readonly string[]) =>
    operators.filter((operator) => names.includes(operator)).length;
  assert.equal(count(after, "MatMulInteger"), products);
  assert.equal(count(after, "MatMul", "Gemm"), count(before, "MatMul", "Gemm") - products);
  for (const operator of ["Concat", "Tanh", "Reshape", "LogSoftmax"]) {
    assert.equal(count(after, operator), count(before, operator), operator);
  }
  assert.ok(bytesAfter < bytesBefore);
});

test("the variant has its own hashes, ID and note", async () => {
  const out = join(await temporaryFolder(), "out");
  await quantizePackage(`${FOLDER}tiny-nemo-streaming-ctc`, out);
  const manifest = JSON.parse(await readFile(join(out, "manifest.json"), "utf8"));
  assert.equal(manifest.id, "tiny-nemo-streaming-ctc-int8");
  assert.match(manifest.notes, /int8 weights.*convolutions are unchanged/);
  assert.deepEqual((await readdir(out)).sort(), ["manifest.json", "model.onnx", "tokens.txt", "vad.onnx"]);
  for (const { path, sha256 } of Object.values(manifest.files) as { path: string; sha256: string }[]) {
    assert.equal(
      createHash("sha256")
        .update(await readFile(join(out, path)))
        .digest("hex"),
      sha256,
      path,
    );
  }
});

test("weights in side files move into the graph", async () => {
  const beside = await copyOfPackage(`${FOLDER}tiny-nemo-streaming-ctc`);
  await putWeightsBeside(beside);
  const [inside, outside] = [join(await temporaryFolder(), "out"), join(await temporaryFolder(), "out")];
  await quantizePackage(`${FOLDER}tiny-nemo-streaming-ctc`, inside);
  await quantizePackage(beside, outside);
  assert.ok(!(await readdir(outside)).includes("model.data"));
  assert.equal(
    "model.data" in JSON.parse(await readFile(join(outside, "manifest.json"), "utf8")).files,
    false,
  );
  assert.deepEqual((await decode(outside)).logProbs, (await decode(inside)).logProbs);
});

for (const through of ["Cast", "Identity"] as const) {
  test(`products in half precision become integer products; ${through} reads them`, async () => {
    const folder = await copyOfPackage(`${FOLDER}tiny-nemo-streaming-ctc`);
    await putProductsInHalves(folder, through);
    const [out, fromFp32] = [join(await temporaryFolder(), "out"), join(await temporaryFolder(), "out")];
    const { products } = await quantizePackage(folder, out);
    assert.equal(products, (await quantizePackage(`${FOLDER}tiny-nemo-streaming-ctc`, fromFp32)).products);
    const operators = await operatorsOf(out);
    assert.equal(operators.filter((operator) => operator === "MatMulInteger").length, products);
    const [halves, int8] = [await decode(folder), await decode(out)];
    const rows = Array.from({ length: halves.frames }, (_, row) => row);
    const same = rows.filter((row) => bestOf(halves, row) === bestOf(int8, row)).length;
    assert.ok(same >= 0.95 * rows.length, `${same} of ${rows.length} rows agree`);
  });
}

for (const type of ["float", "half"] as const) {
  test(`a product may read another one: ${type}`, async () => {
    const size = 16;
    const values = Float32Array.from({ length: size * size }, (_, i) => Math.sin(3 * i) / 2);
    const stored = type === "half" ? Uint16Array.from(values, halfOf) : values;
    const content = [new Uint8Array(stored.buffer)];
    const product = (left: string, output: string) =>
      writeNode({ op: "MatMul", inputs: [left, "w"], outputs: [output] });
    const graph = smallGraph(
      [
        ...writeInitializer({ name: "w", type: TYPES[type], dims: [size, size], content }),
        ...product("x", "first"),
        ...product("first", "second"),
        ...writeNode({ op: "Cast", inputs: ["second"], outputs: ["y"], attributes: { to: TYPES.float } }),
      ],
      TYPES[type],
    );
    const quantized = await quantizeGraph(graph, { weightBits: 8, readExternal: () => assert.fail() });
    assert.equal(quantized.products, 2);
    const row = stored.slice(0, size);
    const x =
      row instanceof Float32Array
        ? new Tensor("float32", row, [1, size])
        : new Tensor("float16", row, [1, size]);
    const [expected, found] = await Promise.all(
      [graph, Buffer.concat(quantized.chunks)].map(async (model) => {
        const session = await InferenceSession.create(model);
        const { y } = await session.run({ x });
        await session.release();
        return y!.data as Float32Array;
      }),
    );
    for (const [i, value] of found!.entries()) {
      assert.ok(Math.abs(value - expected![i]!) < 0.1, `${i}: ${value} instead of ${expected![i]}`);
    }
  });
}

test("every half-precision number has the value that the runtime gives it", async () => {
  const halves = Uint16Array.from({ length: 65_536 }, (_, half) => half);
  const session = await InferenceSession.create(
    smallGraph(writeNode({ op: "Cast", inputs: ["x"], outputs: ["y"], attributes: { to: TYPES.float } })),
  );
  const { y } = await session.run({ x: new Tensor("float16", halves, [halves.length]) });
  const floats = floatsOfHalves(halves);
  for (const [half, value] of (y!.data as Float32Array).entries()) {
    assert.ok(Object.is(floats[half], value), `${half}: ${floats[half]} instead of ${value}`);
  }
  await session.release();
});

test("a package without such products is rejected, and nothing is left behind", async () => {
  const parent = await temporaryFolder();
  const wanted = broken(/tiny-gigaam-ctc has no matrix products with constant fp32 or fp16 weights/);
  await assert.rejects(quantizePackage(`${FOLDER}tiny-gigaam-ctc`, join(parent, "out")), wanted);
  assert.deepEqual(await readdir(parent), []);
});

test("files that do not match the manifest are rejected", async () => {
  const folder = await copyOfPackage(`${FOLDER}tiny-nemo-streaming-ctc`);
  const out = join(await temporaryFolder(), "out");
  await writeFile(join(folder, "model.onnx"), "no graph");
  await assert.rejects(quantizePackage(folder, out), broken(/sha256 of .*model\.onnx must be/));
  await reseal(folder);
  await assert.rejects(
    quantizePackage(folder, out),
    broken(/Cannot quantize: .*not an ONNX file|operator set/),
  );
  await assert.rejects(quantizePackage(folder, folder), broken(/already exists/));
  await assert.rejects(quantizePackage(await temporaryFolder(), out), broken(/has no manifest\.json/));
  await assert.rejects(stat(out));
});

test("a quantized weight is at most half a step off, transposed or not", () => {
  const sizes = { rows: fc.integer({ min: 1, max: 6 }), columns: fc.integer({ min: 1, max: 6 }) };
  const values = fc.array(fc.float({ min: -8, max: 8, noNaN: true }), { minLength: 36, maxLength: 36 });
  fc.assert(
    fc.property(sizes.rows, sizes.columns, values, fc.constantFrom(63, 127), (rows, columns, all, limit) => {
      const matrix = Float32Array.from(all.slice(0, rows * columns));
      const turned = Float32Array.from(
        matrix,
        (_, i) => matrix[(i % rows) * columns + Math.floor(i / rows)]!,
      );
      const straight = quantizeColumns({ values: matrix, rows, columns, isTransposed: false }, limit);
      assert.deepEqual(
        quantizeColumns({ values: turned, rows, columns, isTransposed: true }, limit),
        straight,
      );
      for (const [i, value] of straight.values.entries()) {
        const step = straight.scales[i % columns]!;
        assert.ok(Math.abs(value) <= limit);
        assert.ok(Math.abs(value * step - matrix[i]!) <= step * 0.5001);
      }
    }),
  );
});

/** Moves the constants of a package's graph into `model.data`, as exports of large models do. */
async function putWeightsBeside(folder: string): Promise<void> {
  const path = join(folder, "model.onnx");
  const data: Uint8Array[] = [];
  let offset = 0;
  const fields = fieldsOf(await readFile(path));
  const moved = (await graphOf(folder)).flatMap((field) => {
    if (field.number !== GRAPH.initializer) return [field.raw];
    const initializer = readInitializer(field);
    const content = contentOf(initializer);
    if (content.length < 1_000) return [field.raw];
    data.push(content);
    const entries = { location: "model.data", offset: String(offset), length: String(content.length) };
    offset += content.length;
    return delimited(GRAPH.initializer, [
      ...initializer.dims.map((dim) => whole(1, dim)),
      whole(2, initializer.type),
      ...delimited(8, initializer.name),
      ...Object.entries(entries).flatMap(([key, value]) =>
        delimited(13, [...delimited(1, key), ...delimited(2, value)]),
      ),
      whole(14, 1),
    ]);
  });
  await writeFile(join(folder, "model.data"), Buffer.concat(data));
  const model = fields.flatMap((field) =>
    field.number === MODEL.graph ? delimited(MODEL.graph, moved) : [field.raw],
  );
  await writeFile(path, Buffer.concat(model));
  await changeManifest(folder, (manifest) => {
    const files = manifest["files"] as Readonly<Record<string, Json>>;
    const model = { ...files["model"], external: ["model.data"] };
    return {
      ...manifest,
      files: { ...files, model, "model.data": { path: "model.data", sha256: "0".repeat(64) } },
    };
  });
  await reseal(folder);
}

async function reseal(folder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
  for (const file of Object.values(manifest.files) as { path: string; sha256: string }[]) {
    file.sha256 = createHash("sha256")
      .update(await readFile(join(folder, file.path)))
      .digest("hex");
  }
  await writeFile(join(folder, "manifest.json"), JSON.stringify(manifest));
}

/** Puts the constants of matrix products into half precision, with Casts around, as exports with autocast do. */
async function putProductsInHalves(folder: string, through: "Cast" | "Identity"): Promise<void> {
  const path = join(folder, "model.onnx");
  const graph = await graphOf(folder);
  const initializers = graph.filter(({ number }) => number === GRAPH.initializer).map(readInitializer);
  const constants = new Map(initializers.map((initializer) => [initializer.name, initializer]));
  const cast = (from: string, into: string, to: number) =>
    writeNode({ op: "Cast", inputs: [from], outputs: [into], attributes: { to } });
  const changed = graph.flatMap((field) => {
    if (field.number !== GRAPH.node) return [field.raw];
    const { op, inputs, outputs, attributes } = readNode(field);
    const [left = "", ...factors] = inputs;
    if (!["MatMul", "Gemm"].includes(op) || !constants.has(factors[0]!)) return [field.raw];
    const output = outputs[0]!;
    return [
      ...factors.flatMap((name) => {
        const { dims, ...factor } = constants.get(name)!;
        const floats = new Float32Array(new Uint8Array(contentOf({ dims, ...factor })).buffer);
        const content = new Uint8Array(Uint16Array.from(floats, halfOf).buffer);
        return writeInitializer({ name: `${output}.${name}`, type: TYPES.half, dims, content: [content] });
      }),
      ...cast(left, `${output}.left`, TYPES.half),
      ...writeNode({
        op,
        inputs: [`${output}.left`, ...factors.map((name) => `${output}.${name}`)],
        outputs: [`${output}.half`],
        ...(op === "Gemm" ? { attributes: { transB: attributes.get("transB") ?? 0 } } : {}),
      }),
      ...(through === "Identity"
        ? writeNode({ op: "Identity", inputs: [`${output}.half`], outputs: [`${output}.same`] })
        : []),
      ...cast(`${output}.${through === "Identity" ? "same" : "half"}`, output, TYPES.float),
    ];
  });
  const model = fieldsOf(await readFile(path)).flatMap((field) =>
    field.number === MODEL.graph ? delimited(MODEL.graph, changed) : [field.raw],
  );
  await writeFile(path, Buffer.concat(model));
  await reseal(folder);
}

/** Rounds towards zero to half precision; values below its normal range become zero. */
function halfOf(value: number): number {
  const sign = value < 0 ? 0x8000 : 0;
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  if (exponent < -14) return sign;
  return sign + ((exponent + 15) << 10) + Math.floor((Math.abs(value) / 2 ** exponent - 1) * 1_024);
}

/** A model that computes `y` from `x`, of any shape. @param fields nodes and constants */
function smallGraph(fields: readonly Uint8Array[], element: number = TYPES.half): Uint8Array {
  const type = delimited(1, [whole(1, element)]);
  const graph = [
    ...fields,
    ...delimited(GRAPH.input, [...delimited(1, "x"), ...delimited(2, type)]),
    ...delimited(GRAPH.output, delimited(1, "y")),
  ];
  return Buffer.concat([
    whole(1, 8),
    ...delimited(MODEL.graph, graph),
    ...delimited(MODEL.opset, [whole(2, 13)]),
  ]);
}
