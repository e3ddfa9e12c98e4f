/**
 * Multiplies a matrix and a vector: out = matrix × vector. Rows of the matrix have the vector's length, a
 * multiple of 4.
 */
export type Product = (matrix: Float32Array, vector: Float32Array, out: Float32Array) => void;

/**
 * The reference implementation, bit-identical to the native addon: sums in double precision, four at a time.
 */
export const product: Product = (matrix, vector, out) => {
  const width = vector.length;
  for (let row = 0, at = 0; row < out.length; row++) {
    let [first, second, third, fourth] = [0, 0, 0, 0];
    for (let nth = 0; nth < width; nth += 4, at += 4) {
      first += matrix[at]! * vector[nth]!;
      second += matrix[at + 1]! * vector[nth + 1]!;
      third += matrix[at + 2]! * vector[nth + 2]!;
      fourth += matrix[at + 3]! * vector[nth + 3]!;
    }
    out[row] = first + second + (third + fourth);
  }
};
