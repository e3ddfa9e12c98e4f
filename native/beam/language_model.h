#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "packed_model.h"

namespace beam {

/** Initial hash: 32-bit FNV-1a over output tokens, as in `core/domain/decoding/lexicon.ts`. */
constexpr uint32_t kEmptyWordHash = 2166136261u;

inline uint32_t ExtendWordHash(uint32_t hash, uint32_t token) { return (hash ^ token) * 16777619u; }

/**
 * Character n-gram model as a back-off automaton, read as in `core/domain/decoding/language-model.ts`.
 * Immutable, so any number of threads may use it.
 */
class LanguageModel {
 public:
  /**
   * @param sections the model file after its header, after gunzip
   * @param is_packed whether it is of version 2
   * @throws std::invalid_argument if it is truncated or inconsistent
   */
  LanguageModel(const uint8_t* sections, size_t size, const LanguageModelSizes& sizes, bool is_packed);

  /**
   * Reads tables written by `WriteTables`; null if there is no complete file of this layout and vocabulary.
   */
  static std::shared_ptr<const LanguageModel> ReadTables(const std::string& path, uint32_t vocabulary);
  /**
   * Writes the tables to a new file, readable by its owner only, and syncs it to disk.
   * @throws std::system_error; a partial file remains
   */
  void WriteTables(const std::string& path) const;

  /** State at the start of a sentence. */
  uint32_t start_state() const { return start_state_; }
  uint32_t vocabulary() const { return vocabulary_; }
  /** Bytes held by the tables. */
  size_t memory_bytes() const;

  /** Returns the state after `token`, below `vocabulary`; writes its log-prob (natural log) to `log_prob`. */
  uint32_t Advance(uint32_t state, uint32_t token, double* log_prob) const {
    double backoff = 0;
    for (uint32_t at = state;;) {
      const uint32_t arc = at == 0 ? token : FindArc(at, token);
      if (arc != kNoArc) {
        const uint32_t target = targets_[arc];
        *log_prob = backoff + log_prob_codes_[target & 255u];
        return target >> 8;
      }
      backoff += backoff_codes_[nodes_[at].backoff];
      at = nodes_[at].suffix;
    }
  }

  /** Whether the word with this hash is in the lexicon. */
  bool HasWord(uint32_t hash) const;

 private:
  static constexpr uint32_t kNoArc = UINT32_MAX;

  uint32_t FindArc(uint32_t state, uint32_t token) const {
    uint32_t low = nodes_[state].first_arc;
    uint32_t high = nodes_[state + 1].first_arc;
    while (high - low > 4) {
      const uint32_t middle = low + (high - low) / 2;
      if (tokens_[middle] <= token) {
        low = middle;
      } else {
        high = middle;
      }
    }
    for (uint32_t arc = low; arc < high; arc++) {
      if (tokens_[arc] == token) return arc;
    }
    return kNoArc;
  }

  uint32_t TargetFrom(uint32_t from, uint32_t token) const;
  class SectionReader;
  struct TablesHeader;

  LanguageModel() = default;
  TablesHeader HeaderOfTables() const;
  /** Visits the bytes of each table, in the order of the file. */
  template <typename Self, typename Visit>
  static void ForEachTable(Self& model, const Visit& visit);
  void ReadPlain(SectionReader& reader, const LanguageModelSizes& sizes);
  void ReadNodes(const uint8_t* arc_counts, const uint8_t* backoffs, const LanguageModelSizes& sizes);
  void LinkNodes(const uint8_t* state_tokens, const uint8_t* codes);
  void ReadLexicon(const uint32_t* gaps, uint32_t words);

  uint32_t vocabulary_ = 0;
  uint32_t start_state_ = 0;
  std::array<double, 256> log_prob_codes_;
  std::array<double, 256> backoff_codes_;
  /** One entry more than there are states: a state's arcs end where the next state's arcs start. */
  std::vector<LanguageModelNode> nodes_;
  std::vector<uint8_t> tokens_;
  /** Next state in the upper 24 bits, log-prob code in the lower 8. */
  std::vector<uint32_t> targets_;
  std::vector<uint32_t> word_hashes_;
  /** First hash of every upper half, and the end of the last one. Hashes are evenly distributed. */
  std::vector<uint32_t> hash_starts_;
};

}  // namespace beam
