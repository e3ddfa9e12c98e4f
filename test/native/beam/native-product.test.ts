import assert from "node:assert/strict";
import { test } from "node:test";
import { product } from "../../../core/domain/matrix-product.js";
import { loadBinding } from "../../../native/beam/binding.js";
import * as fc from "../../support/properties.js";

const { binding } = loadBinding();
const native = binding?.product;
const skip = native === undefined ? "the native addon is not built" : false;

test("the native product is bit-identical to the reference", { skip }, () => {
  const float = fc.float({ noNaN: true, min: -100, max: 100 });
  fc.assert(
    fc.property(
      fc.nat({ max: 6 }),
      fc.nat({ max: 9 }),
      fc.array(float, { minLength: 1, maxLength: 40 }),
      (rows, fours, from) => {
        const width = 4 * fours;
        const matrix = Float32Array.from({ length: rows * width }, (_, at) => from[at % from.length]!);
        const vector = Float32Array.from({ length: width }, (_, at) => from[(at * 7) % from.length]!);
        const [one, other] = [new Float32Array(rows), new Float32Array(rows)];
        native!(matrix, vector, one);
        product(matrix, vector, other);
        assert.deepEqual(one, other);
      },
    ),
  );
});

test("the native product rejects arrays of mismatched sizes", { skip }, () => {
  const array = (length: number) => new Float32Array(length);
  assert.throws(() => native!(array(15), array(4), array(4)), /do not match/);
  assert.throws(() => native!(array(12), array(3), array(4)), /do not match/);
});
