// Compares integer products by onnxruntime with exact ones at their extremes (bytes of 255 by 7-bit and 8-bit
// weights): prints how many of 32 are wrong. x86 without VNNI adds two products in 16 bits, which overflows
// with 8-bit weights.
process.env.ORT_DISABLE_TELEMETRY = "1";
const { default: ort } = await import("onnxruntime-node");

const [ROWS, DEPTH, COLUMNS] = [4, 64, 8];
/** A graph with one MatMulInteger, before and after the bytes of its weights. */
const BEFORE = "CAg64wQKGwoBYQoBYgoBehIBeSINTWF0TXVsSW50ZWdlchIBZyqMBAhACAgQA0IBYkqABA==";
const AFTER = "KggQAkIBekoBAFoTCgFhEg4KDAgCEggKAggECgIIQGITCgF5Eg4KDAgGEggKAggECgIICEIECgAQDQ==";

const activations = Uint8Array.from({ length: ROWS * DEPTH }, (_, at) => {
  const [row, depth] = [Math.floor(at / DEPTH), at % DEPTH];
  return [255, (depth * 37) % 256, 200 + ((depth * 13) % 56), 0][row];
});

const wrong = {};
for (const bits of [7, 8]) wrong[`${bits} bits`] = await wrongProducts(2 ** (bits - 1) - 1);
console.log(JSON.stringify({ arch: process.arch, of: ROWS * COLUMNS, wrong }));

async function wrongProducts(largest) {
  const weights = Int8Array.from({ length: DEPTH * COLUMNS }, (_, at) => {
    const column = at % COLUMNS;
    const isPlus = column === 0 || (column > 1 && (at * 7_919) % 5 < 3);
    return isPlus ? largest : -largest;
  });
  const graph = [Buffer.from(BEFORE, "base64"), Buffer.from(weights.buffer), Buffer.from(AFTER, "base64")];
  const session = await ort.InferenceSession.create(Buffer.concat(graph), { intraOpNumThreads: 1 });
  const { y } = await session.run({ a: new ort.Tensor("uint8", activations, [ROWS, DEPTH]) });
  return y.data.filter((found, at) => found !== exact(weights, Math.floor(at / COLUMNS), at % COLUMNS))
    .length;
}

function exact(weights, row, column) {
  let sum = 0;
  for (let depth = 0; depth < DEPTH; depth++)
    sum += activations[row * DEPTH + depth] * weights[depth * COLUMNS + column];
  return sum;
}
