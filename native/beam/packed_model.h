#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beam {

/** The header of a model file. */
struct LanguageModelSizes {
  uint32_t vocabulary;
  uint32_t nodes;
  uint32_t arcs;
  uint32_t words;
};

/** Data of a state that a look-up needs, contiguous: one cache line instead of three. */
struct LanguageModelNode {
  uint32_t first_arc;
  uint32_t suffix;
  uint32_t backoff;
};

/** Tables of a model, as `LanguageModel` keeps them. */
struct LanguageModelTables {
  std::vector<LanguageModelNode> nodes;
  std::vector<uint8_t> tokens;
  std::vector<uint32_t> targets;
  /** Differences of the words' sorted hashes. */
  std::vector<uint32_t> gaps;
};

/**
 * Reads the part of a packed model file after its code books, like `core/domain/decoding/packed-states.ts`,
 * which describes the format.
 *
 * @param log_prob_codes, backoff_codes code books of 256 numbers, natural log
 * @throws std::invalid_argument for bytes that are not a model
 */
LanguageModelTables UnpackModel(const uint8_t* bytes, size_t size, const LanguageModelSizes& sizes,
                                const double* log_prob_codes, const double* backoff_codes);

}  // namespace beam
