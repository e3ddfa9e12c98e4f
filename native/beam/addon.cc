#include <napi.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "prefix_beam_search.h"
#include "resample.h"

namespace {

using beam::HotWordsView;
using beam::LanguageModel;
using beam::PrefixBeamSearch;

constexpr napi_type_tag kModelTag = {0x6b9c1d54e0f24a37, 0x91d2a8c57e3b4f60};
constexpr napi_type_tag kSearchTag = {0x2f7ae81b903d4c65, 0xb4c6150d82f947ea};
constexpr uint32_t kMaxFrames = 1u << 20;

/**
 * The process's models, shared by all threads; each is freed when its last holder ends. The registry is never
 * destroyed, since threads may outlive `main`.
 */
class ModelRegistry {
 public:
  static ModelRegistry& Instance() {
    static ModelRegistry* const registry = new ModelRegistry();
    return *registry;
  }

  std::shared_ptr<const LanguageModel> Find(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return FindLocked(key);
  }

  /** Keeps the first model if two threads have read the same one. */
  std::shared_ptr<const LanguageModel> Keep(const std::string& key, std::shared_ptr<const LanguageModel> model) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (auto known = FindLocked(key)) return known;
    models_[key] = model;
    return model;
  }

 private:
  std::shared_ptr<const LanguageModel> FindLocked(const std::string& key) {
    for (auto entry = models_.begin(); entry != models_.end();) {
      entry = entry->second.expired() ? models_.erase(entry) : std::next(entry);
    }
    const auto found = models_.find(key);
    return found == models_.end() ? nullptr : found->second.lock();
  }

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const LanguageModel>> models_;
};

[[noreturn]] void Refuse(Napi::Env env, const std::string& message) { throw Napi::TypeError::New(env, message); }

uint32_t WholeNumber(const Napi::Value& value, const char* name, uint32_t max) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number <= max) || number != std::floor(number)) {
    Refuse(value.Env(), std::string(name) + " must be a whole number up to " + std::to_string(max));
  }
  return static_cast<uint32_t>(number);
}

double Number(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsNumber()) Refuse(object.Env(), std::string(name) + " must be a number");
  return value.As<Napi::Number>().DoubleValue();
}

template <typename Array>
Array TypedArray(const Napi::Value& value, napi_typedarray_type type, const char* name) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    Refuse(value.Env(), std::string(name) + " must be a typed array of the right type");
  }
  return value.As<Array>();
}

/** Wraps a function of the addon, so that C++ exceptions become JavaScript errors. */
template <Napi::Value (*Body)(const Napi::CallbackInfo&)>
Napi::Value Guarded(const Napi::CallbackInfo& info) {
  try {
    return Body(info);
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Napi::Error::New(info.Env(), error.what());
  }
}

/** An object that owns a `T`, identified by its tag; freed by the garbage collector or with its thread. */
template <typename T>
Napi::Value Wrap(Napi::Env env, T value, const napi_type_tag& tag) {
  auto holder = std::make_unique<T>(std::move(value));
  auto external = Napi::External<T>::New(env, holder.get(), [](Napi::Env, T* held) { delete held; });
  holder.release();
  external.TypeTag(&tag);
  return external;
}

template <typename T>
T& Unwrap(const Napi::Value& value, const napi_type_tag& tag, const char* name) {
  if (!value.IsExternal() || !value.As<Napi::External<T>>().CheckTypeTag(&tag)) {
    Refuse(value.Env(), std::string(name) + " is not one of this addon's");
  }
  return *value.As<Napi::External<T>>().Data();
}

using SharedModel = std::shared_ptr<const LanguageModel>;

/** A search with its workspace, for one utterance at a time. */
struct OwnedSearch {
  std::unique_ptr<PrefixBeamSearch> search;
  bool is_busy = false;
};

/** findModel(key): the model that some thread has read with this key, or null. */
Napi::Value FindModel(const Napi::CallbackInfo& info) {
  if (!info[0].IsString()) Refuse(info.Env(), "key must be a string");
  SharedModel model = ModelRegistry::Instance().Find(info[0].As<Napi::String>());
  return model == nullptr ? info.Env().Null() : Wrap(info.Env(), std::move(model), kModelTag);
}

/** readModel(key, sections, vocabulary, nodes, arcs, words, isPacked): reads and keeps a model. */
Napi::Value ReadModel(const Napi::CallbackInfo& info) {
  if (!info[0].IsString()) Refuse(info.Env(), "key must be a string");
  const auto sections = TypedArray<Napi::Uint8Array>(info[1], napi_uint8_array, "sections");
  const beam::LanguageModelSizes sizes = {
      WholeNumber(info[2], "vocabulary", 128), WholeNumber(info[3], "nodeCount", (1u << 24) - 1),
      WholeNumber(info[4], "arcCount", UINT32_MAX - 1), WholeNumber(info[5], "wordCount", UINT32_MAX - 1)};
  const bool is_packed = info[6].ToBoolean();
  auto model = std::make_shared<const LanguageModel>(sections.Data(), sections.ElementLength(), sizes, is_packed);
  return Wrap(info.Env(), ModelRegistry::Instance().Keep(info[0].As<Napi::String>(), std::move(model)), kModelTag);
}

/**
 * readTables(key, path, vocabulary): like readModel, from a file of writeTables; null if the file is
 * incomplete.
 */
Napi::Value ReadTables(const Napi::CallbackInfo& info) {
  if (!info[0].IsString() || !info[1].IsString()) Refuse(info.Env(), "key and path must be strings");
  auto model = LanguageModel::ReadTables(info[1].As<Napi::String>(), WholeNumber(info[2], "vocabulary", 128));
  if (model == nullptr) return info.Env().Null();
  return Wrap(info.Env(), ModelRegistry::Instance().Keep(info[0].As<Napi::String>(), std::move(model)), kModelTag);
}

/** Writes the tables of a model on a thread of libuv's pool, and keeps the model alive meanwhile. */
class TablesWriter : public Napi::AsyncWorker {
 public:
  TablesWriter(Napi::Env env, SharedModel model, std::string path)
      : Napi::AsyncWorker(env, "model tables"), model_(std::move(model)), path_(std::move(path)), deferred_(env) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override { model_->WriteTables(path_); }
  void OnOK() override { deferred_.Resolve(Env().Undefined()); }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  SharedModel model_;
  std::string path_;
  Napi::Promise::Deferred deferred_;
};

/** writeTables(model, path): writes a new file; returns a promise. */
Napi::Value WriteTables(const Napi::CallbackInfo& info) {
  const auto& model = Unwrap<SharedModel>(info[0], kModelTag, "model");
  if (!info[1].IsString()) Refuse(info.Env(), "path must be a string");
  auto writer = std::make_unique<TablesWriter>(info.Env(), model, info[1].As<Napi::String>());
  const Napi::Promise promise = writer->promise();
  writer->Queue();
  // From here on the writer frees itself.
  writer.release();
  return promise;
}

/** modelBytes(model): number of bytes in the model's tables. */
Napi::Value ModelBytes(const Napi::CallbackInfo& info) {
  const auto& model = Unwrap<SharedModel>(info[0], kModelTag, "model");
  return Napi::Number::New(info.Env(), static_cast<double>(model->memory_bytes()));
}

/** makeSearch(model or null, options, logAddTable): creates a search and its workspace. */
Napi::Value MakeSearch(const Napi::CallbackInfo& info) {
  SharedModel model;
  if (!info[0].IsNull()) model = Unwrap<SharedModel>(info[0], kModelTag, "model");
  if (!info[1].IsObject()) Refuse(info.Env(), "options must be an object");
  const auto given = info[1].As<Napi::Object>();
  const Napi::Value space = given.Get("space");
  const bool has_space = !(space.IsNumber() && space.As<Napi::Number>().DoubleValue() == -1);
  const beam::BeamSearchOptions options = {
      WholeNumber(given.Get("vocabularySize"), "vocabularySize", 256),
      has_space ? static_cast<int32_t>(WholeNumber(space, "space", 255)) : -1,
      WholeNumber(given.Get("beamWidth"), "beamWidth", 4096),
      Number(given, "languageModelWeight"),
      Number(given, "characterBonus"),
      Number(given, "wordBonus"),
      WholeNumber(given.Get("candidatesPerFrame"), "candidatesPerFrame", 256),
      Number(given, "candidateFloor"),
      Number(given, "beamMargin")};
  const auto table = TypedArray<Napi::Float64Array>(info[2], napi_float64_array, "logAddTable");
  beam::LogAdder log_add({table.Data(), table.Data() + table.ElementLength()});
  auto search = std::make_unique<PrefixBeamSearch>(std::move(model), options, std::move(log_add));
  return Wrap(info.Env(), OwnedSearch{std::move(search)}, kSearchTag);
}

HotWordsView ViewOf(const Napi::Object& hot_words) {
  const auto first_arc = TypedArray<Napi::Int32Array>(hot_words.Get("firstArc"), napi_int32_array, "firstArc");
  const auto arc_tokens = TypedArray<Napi::Uint8Array>(hot_words.Get("arcTokens"), napi_uint8_array, "arcTokens");
  const auto arc_targets =
      TypedArray<Napi::Int32Array>(hot_words.Get("arcTargets"), napi_int32_array, "arcTargets");
  const auto suffix = TypedArray<Napi::Int32Array>(hot_words.Get("suffix"), napi_int32_array, "suffix");
  const auto gain = TypedArray<Napi::Float64Array>(hot_words.Get("gain"), napi_float64_array, "gain");
  const auto credit = TypedArray<Napi::Float64Array>(hot_words.Get("credit"), napi_float64_array, "credit");
  const size_t states = suffix.ElementLength();
  const size_t arcs = arc_tokens.ElementLength();
  if (first_arc.ElementLength() != states + 1 || gain.ElementLength() != states ||
      credit.ElementLength() != states || arc_targets.ElementLength() != arcs) {
    Refuse(hot_words.Env(), "hot words: the sizes of the arrays do not match");
  }
  const auto start_state = static_cast<int32_t>(WholeNumber(hot_words.Get("startState"), "startState", INT32_MAX));
  return HotWordsView({first_arc.Data(), arc_tokens.Data(), arc_targets.Data(), suffix.Data(), gain.Data(),
                       credit.Data(), states, arcs, start_state});
}

template <typename Array, typename T>
Array CopyOf(Napi::Env env, const std::vector<T>& values) {
  Array array = Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

/**
 * Arguments of both kinds of search: (search, logProbs, frames, hotWords or null), as views of their arrays.
 */
struct Query {
  OwnedSearch& owned;
  const float* log_probs;
  uint32_t frames;
  std::optional<HotWordsView> hot_words;

  explicit Query(const Napi::CallbackInfo& info)
      : owned(Unwrap<OwnedSearch>(info[0], kSearchTag, "search")),
        log_probs(nullptr),
        frames(WholeNumber(info[2], "frames", kMaxFrames)) {
    const auto array = TypedArray<Napi::Float32Array>(info[1], napi_float32_array, "logProbs");
    if (size_t{frames} * owned.search->vocabulary() > array.ElementLength()) {
      Refuse(info.Env(), "logProbs must hold all frames");
    }
    if (owned.is_busy) Refuse(info.Env(), "search is busy with another utterance");
    log_probs = array.Data();
    if (info[3].IsObject()) hot_words = ViewOf(info[3].As<Napi::Object>());
  }

  /** Returns false if `stop`, which may be null, ended the search. */
  bool Run(const int32_t* stop, beam::Hypotheses* found) const {
    return owned.search->Search(log_probs, frames, hot_words.has_value() ? &*hot_words : nullptr, stop, found);
  }
};

Napi::Object ResultOf(Napi::Env env, const beam::Hypotheses& found) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("tokens", CopyOf<Napi::Uint8Array>(env, found.tokens));
  result.Set("ends", CopyOf<Napi::Int32Array>(env, found.ends));
  result.Set("scores", CopyOf<Napi::Float64Array>(env, found.scores));
  return result;
}

/** search(search, logProbs, frames, hotWords or null): the texts of the beam, best first. */
Napi::Value Search(const Napi::CallbackInfo& info) {
  const Query query(info);
  beam::Hypotheses found;
  query.Run(nullptr, &found);
  return ResultOf(info.Env(), found);
}

/** Returns a search that no other thread is using. */
PrefixBeamSearch& IdleSearch(const Napi::Value& value) {
  auto& owned = Unwrap<OwnedSearch>(value, kSearchTag, "search");
  if (owned.is_busy) Refuse(value.Env(), "search is busy with another utterance");
  return *owned.search;
}

/** withBeam(search, beamWidth): another search over the same model, for the same thread. */
Napi::Value WithBeam(const Napi::CallbackInfo& info) {
  const uint32_t beam_width = WholeNumber(info[1], "beamWidth", 4096);
  return Wrap(info.Env(), OwnedSearch{IdleSearch(info[0]).WithBeam(beam_width)}, kSearchTag);
}

/** begin(search): starts a growing text. */
Napi::Value Begin(const Napi::CallbackInfo& info) {
  IdleSearch(info[0]).Begin();
  return info.Env().Undefined();
}

/** push(search, logProbs): takes a frame; returns a number that changes with the best text. */
Napi::Value Push(const Napi::CallbackInfo& info) {
  PrefixBeamSearch& search = IdleSearch(info[0]);
  const auto row = TypedArray<Napi::Float32Array>(info[1], napi_float32_array, "logProbs");
  if (row.ElementLength() < search.vocabulary()) Refuse(info.Env(), "logProbs must hold a frame");
  return Napi::Number::New(info.Env(), search.Push(row.Data()));
}

/** keepBestText(search): drops all other texts. */
Napi::Value KeepBestText(const Napi::CallbackInfo& info) {
  IdleSearch(info[0]).KeepBestText();
  return info.Env().Undefined();
}

/**
 * grown(search, text): writes the number of settled tokens and the best text's tokens, if they fit; returns
 * the number of tokens.
 */
Napi::Value Grown(const Napi::CallbackInfo& info) {
  const PrefixBeamSearch& search = IdleSearch(info[0]);
  auto text = TypedArray<Napi::Uint16Array>(info[1], napi_uint16_array, "text");
  std::vector<uint8_t> tokens;
  const size_t settled = search.Grown(&tokens);
  if (text.ElementLength() > tokens.size()) {
    text[0] = static_cast<uint16_t>(settled);
    std::copy(tokens.begin(), tokens.end(), text.Data() + 1);
  }
  return Napi::Number::New(info.Env(), static_cast<double>(tokens.size()));
}

/** A search on a thread of libuv's pool. Holds references to its arguments until it is done. */
class AsideSearch : public Napi::AsyncWorker {
 public:
  explicit AsideSearch(const Napi::CallbackInfo& info)
      : Napi::AsyncWorker(info.Env(), "beam search"), query_(info), deferred_(info.Env()) {
    if (info[4].IsTypedArray()) {
      const auto bias = TypedArray<Napi::Float32Array>(info[4], napi_float32_array, "outputBias");
      if (bias.ElementLength() != query_.owned.search->vocabulary()) {
        Refuse(info.Env(), "outputBias must have one value per output");
      }
      bias_ = bias.Data();
    }
    if (info[5].IsTypedArray()) {
      const auto stop = TypedArray<Napi::Int32Array>(info[5], napi_int32_array, "stop");
      if (stop.ElementLength() == 0) Refuse(info.Env(), "stop must have a value");
      stop_ = stop.Data();
    }
    arguments_ = Napi::Persistent(Napi::Array::New(info.Env(), info.Length()).As<Napi::Object>());
    for (uint32_t i = 0; i < info.Length(); i++) arguments_.Set(i, info[i]);
    query_.owned.is_busy = true;
  }

  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    if (bias_ != nullptr) AddBias();
    is_complete_ = query_.Run(stop_, &found_);
  }

  void OnOK() override {
    query_.owned.is_busy = false;
    deferred_.Resolve(is_complete_ ? ResultOf(Env(), found_) : Env().Null());
  }

  void OnError(const Napi::Error& error) override {
    query_.owned.is_busy = false;
    deferred_.Reject(error.Value());
  }

 private:
  void AddBias() {
    const size_t width = query_.owned.search->vocabulary();
    biased_.assign(query_.log_probs, query_.log_probs + query_.frames * width);
    for (size_t i = 0; i < biased_.size(); i++) biased_[i] += bias_[i % width];
    query_.log_probs = biased_.data();
  }

  Query query_;
  const float* bias_ = nullptr;
  const int32_t* stop_ = nullptr;
  bool is_complete_ = false;
  std::vector<float> biased_;
  Napi::Promise::Deferred deferred_;
  Napi::ObjectReference arguments_;
  beam::Hypotheses found_;
};

/**
 * searchAside(search, logProbs, frames, hotWords or null, outputBias or null, stop or null): like search;
 * returns a promise, of null if another thread has set the first number of `stop`.
 */
Napi::Value SearchAside(const Napi::CallbackInfo& info) {
  auto aside = std::make_unique<AsideSearch>(info);
  const Napi::Promise promise = aside->promise();
  aside->Queue();
  // From here on the search frees itself.
  aside.release();
  return promise;
}

/** resample(table, tapCount, up, down, phase, inputs, outputs): fills the outputs. */
Napi::Value ResampleSpan(const Napi::CallbackInfo& info) {
  constexpr uint32_t kMost = 1u << 20;
  const auto table = TypedArray<Napi::Float32Array>(info[0], napi_float32_array, "table");
  const beam::Resampling by = {table.Data(), WholeNumber(info[1], "tapCount", kMost), WholeNumber(info[2], "up", kMost),
                               WholeNumber(info[3], "down", kMost), WholeNumber(info[4], "phase", kMost)};
  const auto inputs = TypedArray<Napi::Float32Array>(info[5], napi_float32_array, "inputs");
  auto outputs = TypedArray<Napi::Float32Array>(info[6], napi_float32_array, "outputs");
  const size_t count = outputs.ElementLength();
  if (by.up == 0 || by.taps % 4 != 0 || by.phase >= by.up || table.ElementLength() != by.up * by.taps ||
      beam::InputsOf(by, count) > inputs.ElementLength()) {
    Refuse(info.Env(), "the sizes of table, inputs and outputs do not match");
  }
  beam::Resample(by, inputs.Data(), outputs.Data(), count);
  return info.Env().Undefined();
}

/** product(matrix, vector, out): out = matrix × vector; rows of the matrix have the vector's length. */
Napi::Value ProductOf(const Napi::CallbackInfo& info) {
  const auto matrix = TypedArray<Napi::Float32Array>(info[0], napi_float32_array, "matrix");
  const auto vector = TypedArray<Napi::Float32Array>(info[1], napi_float32_array, "vector");
  auto out = TypedArray<Napi::Float32Array>(info[2], napi_float32_array, "out");
  const size_t width = vector.ElementLength();
  if (width % 4 != 0 || matrix.ElementLength() != width * out.ElementLength()) {
    Refuse(info.Env(), "the sizes of matrix, vector and out do not match");
  }
  for (size_t row = 0; row < out.ElementLength(); row++) {
    out[row] = beam::Dot(matrix.Data() + row * width, vector.Data(), width);
  }
  return info.Env().Undefined();
}

/** Called in every thread that loads the addon; keeps no state per thread. */
Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("findModel", Napi::Function::New<Guarded<FindModel>>(env, "findModel"));
  exports.Set("readModel", Napi::Function::New<Guarded<ReadModel>>(env, "readModel"));
  exports.Set("readTables", Napi::Function::New<Guarded<ReadTables>>(env, "readTables"));
  exports.Set("writeTables", Napi::Function::New<Guarded<WriteTables>>(env, "writeTables"));
  exports.Set("modelBytes", Napi::Function::New<Guarded<ModelBytes>>(env, "modelBytes"));
  exports.Set("makeSearch", Napi::Function::New<Guarded<MakeSearch>>(env, "makeSearch"));
  exports.Set("search", Napi::Function::New<Guarded<Search>>(env, "search"));
  exports.Set("withBeam", Napi::Function::New<Guarded<WithBeam>>(env, "withBeam"));
  exports.Set("begin", Napi::Function::New<Guarded<Begin>>(env, "begin"));
  exports.Set("push", Napi::Function::New<Guarded<Push>>(env, "push"));
  exports.Set("keepBestText", Napi::Function::New<Guarded<KeepBestText>>(env, "keepBestText"));
  exports.Set("grown", Napi::Function::New<Guarded<Grown>>(env, "grown"));
  exports.Set("searchAside", Napi::Function::New<Guarded<SearchAside>>(env, "searchAside"));
  exports.Set("product", Napi::Function::New<Guarded<ProductOf>>(env, "product"));
  exports.Set("resample", Napi::Function::New<Guarded<ResampleSpan>>(env, "resample"));
  return exports;
}

}  // namespace

NODE_API_MODULE(beam, Init)
