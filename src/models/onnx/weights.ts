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
