// A GGUF file (versions 2 and 3): its metadata and the sizes of its tensors. The data is not read,
// and of long arrays (vocabularies) only the length is kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor_weights.h"

namespace octavo::sim {

struct GgufValue {
  enum class Kind { Number, Text, Numbers, Other };
  Kind kind = Kind::Other;
  std::int64_t number = 0;  ///< Also true and false; of Numbers and Other: the length.
  std::string text = {};
  std::vector<std::int64_t> numbers = {};
};

class GgufFile {
 public:
  /// Raises InputError: no GGUF, another version, big-endian, cut off anywhere, a type that is not
  /// known, a count beyond what the file can hold, tensors that overlap or lie outside the file.
  explicit GgufFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

  /// nullptr when the key is not there.
  const GgufValue* find(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  /// A whole number that is not negative; a list of equal ones counts as one.
  std::optional<std::int64_t> number(const std::string& key) const;
  /// One number a layer: the list of the key, or its one number for all `layers`. Empty without it.
  std::vector<std::int64_t> numbers(const std::string& key, std::int64_t layers) const;
  /// The length of an array; nullopt when there is none.
  std::optional<std::int64_t> length(const std::string& key) const;

  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  std::string path_;
  std::map<std::string, GgufValue> values_;
  std::vector<Tensor> tensors_;
};

}  // namespace octavo::sim
