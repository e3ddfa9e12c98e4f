// A model's tables in a file, in their memory layout: usable on this machine only, but faster to read than to
// unpack.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "language_model.h"

namespace beam {
namespace {

/** Version of the files: increment it with any change to the tables or to the unpacking. */
constexpr uint32_t kLayout = 1;
constexpr char kMagic[8] = {'d', 'a', 'u', 'y', 's', ' ', 'l', 'm'};

/** A file descriptor that closes itself. */
class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0) : descriptor_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }

  /** Zero if unknown. */
  uint64_t size() const {
    struct stat found;
    return fstat(descriptor_, &found) == 0 && S_ISREG(found.st_mode) ? static_cast<uint64_t>(found.st_size) : 0;
  }

  bool Read(void* bytes, size_t count) const {
    auto* at = static_cast<uint8_t*>(bytes);
    while (count > 0) {
      const ssize_t taken = read(descriptor_, at, count);
      if (taken < 0 && errno == EINTR) continue;
      if (taken <= 0) return false;
      at += taken;
      count -= static_cast<size_t>(taken);
    }
    return true;
  }

  bool Write(const void* bytes, size_t count) const {
    const auto* at = static_cast<const uint8_t*>(bytes);
    while (count > 0) {
      const ssize_t taken = write(descriptor_, at, count);
      if (taken < 0 && errno == EINTR) continue;
      if (taken < 0) return false;
      at += taken;
      count -= static_cast<size_t>(taken);
    }
    return true;
  }

  bool Sync() const { return fsync(descriptor_) == 0; }

 private:
  int descriptor_;
};

/**
 * Detects damage, not malice. Uses four independent sums, because a single one would wait for each
 * multiplication.
 */
class Checksum {
 public:
  void Add(const void* bytes, size_t count) {
    const auto* at = static_cast<const uint8_t*>(bytes);
    for (; count >= sizeof sums_; at += sizeof sums_, count -= sizeof sums_) {
      uint64_t words[4];
      std::memcpy(words, at, sizeof words);
      for (int lane = 0; lane < 4; lane++) sums_[lane] = Mixed(sums_[lane] ^ words[lane]);
    }
    for (; count > 0; at++, count--) sums_[0] = Mixed(sums_[0] ^ *at);
  }

  uint64_t value() const { return Mixed(sums_[0] ^ Mixed(sums_[1] ^ Mixed(sums_[2] ^ Mixed(sums_[3])))); }

 private:
  static uint64_t Mixed(uint64_t sum) {
    sum *= 0x9e3779b97f4a7c15u;
    return sum ^ (sum >> 32);
  }

  uint64_t sums_[4] = {1, 2, 3, 4};
};

}  // namespace

/** Start of the file; the tables follow. */
struct LanguageModel::TablesHeader {
  char magic[8];
  uint32_t layout;
  /** Differs on machines with another byte order. */
  uint32_t byte_order;
  uint64_t vocabulary;
  uint64_t start_state;
  /** Number of states plus one. */
  uint64_t nodes;
  uint64_t arcs;
  uint64_t words;
  uint64_t hash_starts;
  double log_prob_codes[256];
  double backoff_codes[256];
  /** Checksum of everything before it, and of the tables. */
  uint64_t checksum;
};

template <typename Self, typename Visit>
void LanguageModel::ForEachTable(Self& model, const Visit& visit) {
  const auto table = [&visit](auto& values) { visit(values.data(), values.size() * sizeof values[0]); };
  table(model.nodes_);
  table(model.tokens_);
  table(model.targets_);
  table(model.word_hashes_);
  table(model.hash_starts_);
}

LanguageModel::TablesHeader LanguageModel::HeaderOfTables() const {
  TablesHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.layout = kLayout;
  header.byte_order = 0x01020304;
  header.vocabulary = vocabulary_;
  header.start_state = start_state_;
  header.nodes = nodes_.size();
  header.arcs = targets_.size();
  header.words = word_hashes_.size();
  header.hash_starts = hash_starts_.size();
  std::memcpy(header.log_prob_codes, log_prob_codes_.data(), sizeof header.log_prob_codes);
  std::memcpy(header.backoff_codes, backoff_codes_.data(), sizeof header.backoff_codes);
  Checksum sum;
  sum.Add(&header, offsetof(TablesHeader, checksum));
  ForEachTable(*this, [&sum](const void* bytes, size_t count) { sum.Add(bytes, count); });
  header.checksum = sum.value();
  return header;
}

std::shared_ptr<const LanguageModel> LanguageModel::ReadTables(const std::string& path, uint32_t vocabulary) {
  const File file(path, O_RDONLY);
  TablesHeader header;
  if (!file.is_open() || !file.Read(&header, sizeof header)) return nullptr;
  // The tables' sizes must match the file before memory is allocated.
  constexpr uint64_t kMost = uint64_t{1} << 32;
  if (header.nodes > kMost || header.arcs > kMost || header.words > kMost || header.hash_starts > kMost) return nullptr;
  const uint64_t table_bytes = header.nodes * sizeof(LanguageModelNode) + header.arcs * (1 + sizeof(uint32_t)) +
                               (header.words + header.hash_starts) * sizeof(uint32_t);
  if (header.vocabulary != vocabulary || file.size() != sizeof header + table_bytes) return nullptr;
  const std::shared_ptr<LanguageModel> model(new LanguageModel());
  model->vocabulary_ = vocabulary;
  model->start_state_ = static_cast<uint32_t>(header.start_state);
  std::memcpy(model->log_prob_codes_.data(), header.log_prob_codes, sizeof header.log_prob_codes);
  std::memcpy(model->backoff_codes_.data(), header.backoff_codes, sizeof header.backoff_codes);
  model->nodes_.resize(header.nodes);
  model->tokens_.resize(header.arcs);
  model->targets_.resize(header.arcs);
  model->word_hashes_.resize(header.words);
  model->hash_starts_.resize(header.hash_starts);
  bool is_whole = true;
  ForEachTable(*model, [&](void* bytes, size_t count) { is_whole = is_whole && file.Read(bytes, count); });
  // The recomputed header, with magic, layout and checksum, must equal the one in the file.
  const TablesHeader found = model->HeaderOfTables();
  if (!is_whole || std::memcmp(&found, &header, sizeof header) != 0) return nullptr;
  return model;
}

void LanguageModel::WriteTables(const std::string& path) const {
  const auto check = [&path](bool is_done) {
    if (!is_done) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  };
  const TablesHeader header = HeaderOfTables();
  const File file(path, O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  check(file.is_open());
  check(file.Write(&header, sizeof header));
  ForEachTable(*this, [&](const void* bytes, size_t count) { check(file.Write(bytes, count)); });
  // Sync before renaming: a name that survives a power failure must not refer to an incomplete file.
  check(file.Sync());
}

}  // namespace beam
