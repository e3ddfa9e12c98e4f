/** A constant matrix in a graph: `[rows, columns]`, or `[columns, rows]` if transposed. */
export interface Matrix {
  readonly values: Float32Array;
  readonly rows: number;
  readonly columns: number;
  readonly isTransposed: boolean;
}

/** int8 weights, `[rows, columns]`, with one scale per column. */
export interface QuantizedMatrix {
  readonly values: Int8Array;
  readonly scales: Float32Array;
}

/**
 * Rounds each column to multiples of its scale, from -`limit` to `limit`, without an offset.
 *
 * @param limit 63 for 7 bits, 127 for 8
 */
export function quantizeColumns(matrix: Matrix, limit: number): QuantizedMatrix {
  const { values, rows, columns, isTransposed } = matrix;
  const [rowStride, columnStride] = isTransposed ? [1, rows] : [columns, 1];
  const scales = new Float32Array(columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const size = Math.abs(values[row * rowStride + column * columnStride]!);
      if (size > scales[column]!) scales[column] = size;
    }
  }
  // For a column of zeros, any scale is fine.
  for (let column = 0; column < columns; column++) scales[column] = Math.fround(scales[column]! / limit) || 1;
  const quantized = new Int8Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = values[row * rowStride + column * columnStride]!;
      quantized[row * columns + column] = Math.round(value / scales[column]!);
    }
  }
  return { values: quantized, scales };
}

/** Number of halves: sign, exponent of 5 bits, and fraction of 10 bits. */
const HALVES = 1 << 16;
const FRACTION = 1 << 10;
let floats: Float32Array | undefined;

/** Converts half-precision floats to fp32, exactly. */
export function floatsOfHalves(halves: Uint16Array): Float32Array {
  floats ??= Float32Array.from({ length: HALVES }, (_, half) => {
    const exponent = (half >> 10) & 31;
    const fraction = half % FRACTION;
    const sign = half < HALVES / 2 ? 1 : -1;
    if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    // Subnormal values have the lowest exponent, and no implicit first bit.
    const significand = exponent === 0 ? fraction : FRACTION + fraction;
    return sign * significand * 2 ** (Math.max(exponent, 1) - 25);
  });
  const table = floats;
  return Float32Array.from(halves, (half) => table[half]!);
}
