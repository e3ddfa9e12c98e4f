#include "language_model.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace beam {
namespace {

constexpr uint32_t kMaxStates = 1u << 24;
/** The upper bit of a token in the file marks an n-gram that is a state. */
constexpr uint32_t kStateBit = 128;
constexpr uint32_t kHashBuckets = 1u << 16;

[[noreturn]] void Broken(const std::string& reason) { throw std::invalid_argument(reason); }

}  // namespace

/** Reads the sections of the file in order. */
class LanguageModel::SectionReader {
 public:
  SectionReader(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}

  const uint8_t* Take(size_t count) {
    if (count > size_ - position_) Broken("it is cut short");
    const uint8_t* section = bytes_ + position_;
    position_ += count;
    return section;
  }

  const uint8_t* rest() const { return bytes_ + position_; }
  size_t rest_size() const { return size_ - position_; }

  std::array<double, 256> TakeCodes() {
    std::array<float, 256> floats;
    std::memcpy(floats.data(), Take(sizeof floats), sizeof floats);
    std::array<double, 256> codes;
    std::copy(floats.begin(), floats.end(), codes.begin());
    return codes;
  }

 private:
  const uint8_t* bytes_;
  size_t size_;
  size_t position_ = 0;
};

LanguageModel::LanguageModel(const uint8_t* sections, size_t size, const LanguageModelSizes& sizes,
                             bool is_packed)
    : vocabulary_(sizes.vocabulary) {
  if (sizes.vocabulary < 2 || sizes.vocabulary > kStateBit) Broken("its vocabulary must have 2 to 128 outputs");
  if (sizes.nodes < 1 || sizes.nodes >= kMaxStates) Broken("its states do not fit 24 bits");
  SectionReader reader(sections, size);
  log_prob_codes_ = reader.TakeCodes();
  backoff_codes_ = reader.TakeCodes();
  if (is_packed) {
    LanguageModelTables tables =
        UnpackModel(reader.rest(), reader.rest_size(), sizes, log_prob_codes_.data(), backoff_codes_.data());
    nodes_ = std::move(tables.nodes);
    tokens_ = std::move(tables.tokens);
    targets_ = std::move(tables.targets);
    ReadLexicon(tables.gaps.data(), sizes.words);
  } else {
    ReadPlain(reader, sizes);
  }
  double unused;
  start_state_ = Advance(0, 0, &unused);
}

void LanguageModel::ReadPlain(SectionReader& reader, const LanguageModelSizes& sizes) {
  // Skip the log-probs of words: the search only checks whether a word is known.
  reader.Take(256 * sizeof(float));
  const size_t gap_bytes = size_t{sizes.words} * sizeof(uint32_t);
  // Check the size before allocating: the header may claim anything.
  const uint8_t* gap_section = reader.Take(gap_bytes);
  std::vector<uint32_t> gaps(sizes.words);
  std::memcpy(gaps.data(), gap_section, gap_bytes);
  const uint8_t* state_tokens = reader.Take(sizes.arcs);
  const uint8_t* codes = reader.Take(sizes.arcs);
  const uint8_t* arc_counts = reader.Take(sizes.nodes);
  const uint8_t* backoffs = reader.Take(sizes.nodes);
  reader.Take(sizes.words);
  ReadLexicon(gaps.data(), sizes.words);
  ReadNodes(arc_counts, backoffs, sizes);
  LinkNodes(state_tokens, codes);
}

size_t LanguageModel::memory_bytes() const {
  return nodes_.size() * sizeof(LanguageModelNode) + tokens_.size() +
         (targets_.size() + word_hashes_.size() + hash_starts_.size()) * sizeof(uint32_t);
}

bool LanguageModel::HasWord(uint32_t hash) const {
  const uint32_t bucket = hash >> 16;
  const auto begin = word_hashes_.begin();
  return std::binary_search(begin + hash_starts_[bucket], begin + hash_starts_[bucket + 1], hash);
}

void LanguageModel::ReadNodes(const uint8_t* arc_counts, const uint8_t* backoffs,
                              const LanguageModelSizes& sizes) {
  nodes_.resize(size_t{sizes.nodes} + 1);
  uint64_t arc = 0;
  for (uint32_t state = 0; state < sizes.nodes; state++) {
    nodes_[state] = {static_cast<uint32_t>(arc), 0, backoffs[state]};
    arc += arc_counts[state];
    if (arc > sizes.arcs) break;
  }
  if (arc != sizes.arcs) Broken("its arcs do not add up");
  nodes_[sizes.nodes] = {sizes.arcs, 0, 0};
  // Every look-up ends at the root if not before, so the root must have an arc for every output.
  if (arc_counts[0] != vocabulary_) Broken("its root must have an arc for every output");
}

/** States are breadth-first, so a suffix, being shorter, is complete before its first use. */
void LanguageModel::LinkNodes(const uint8_t* state_tokens, const uint8_t* codes) {
  const uint32_t state_count = static_cast<uint32_t>(nodes_.size() - 1);
  const uint32_t arc_count = nodes_[state_count].first_arc;
  tokens_.resize(arc_count);
  targets_.resize(arc_count);
  uint32_t next_state = 1;
  for (uint32_t state = 0; state < state_count; state++) {
    // A state without an incoming arc so far has no suffix.
    if (state >= next_state) Broken("its states are not in order");
    uint32_t last_token = 0;
    for (uint32_t arc = nodes_[state].first_arc; arc < nodes_[state + 1].first_arc; arc++) {
      const uint32_t token = state_tokens[arc] & (kStateBit - 1);
      const bool is_first = arc == nodes_[state].first_arc;
      if (token >= vocabulary_ || (!is_first && token <= last_token)) Broken("its arcs are not in order");
      if (state == 0 && token != arc) Broken("its root must have an arc for every output");
      last_token = token;
      tokens_[arc] = static_cast<uint8_t>(token);
      const uint32_t shorter = state == 0 ? 0 : TargetFrom(nodes_[state].suffix, token);
      uint32_t target = shorter;
      if ((state_tokens[arc] & kStateBit) != 0) {
        if (next_state >= state_count) Broken("it has more states than its header says");
        target = next_state++;
        nodes_[target].suffix = shorter;
      }
      targets_[arc] = (target << 8) | codes[arc];
    }
  }
  if (next_state != state_count) Broken("it has fewer states than its header says");
}

/**
 * Suffixes have lower numbers than their states and are already linked, so this loop ends, at the root if not
 * before.
 */
uint32_t LanguageModel::TargetFrom(uint32_t from, uint32_t token) const {
  for (uint32_t state = from; state != 0; state = nodes_[state].suffix) {
    const uint32_t arc = FindArc(state, token);
    if (arc != kNoArc) return targets_[arc] >> 8;
  }
  return targets_[token] >> 8;
}

void LanguageModel::ReadLexicon(const uint32_t* gaps, uint32_t words) {
  word_hashes_.resize(words);
  hash_starts_.assign(size_t{kHashBuckets} + 1, 0);
  uint32_t hash = 0;
  for (uint32_t word = 0; word < words; word++) {
    const uint32_t gap = gaps[word];
    if (gap > UINT32_MAX - hash) Broken("its words are not in order");
    hash += gap;
    word_hashes_[word] = hash;
    hash_starts_[(hash >> 16) + 1]++;
  }
  for (uint32_t bucket = 0; bucket < kHashBuckets; bucket++) hash_starts_[bucket + 1] += hash_starts_[bucket];
}

}  // namespace beam
