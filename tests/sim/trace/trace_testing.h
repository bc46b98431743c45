// Helpers of the trace tests: files that vanish, all requests of a file, the text of an error.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "octavo/sim/input_error.h"
#include "octavo/sim/trace.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace octavo::sim {

/// A file that holds `content` while the object lives.
class TempFile {
 public:
  explicit TempFile(const std::string& content) {
    static int count = 0;
    // Tests run as processes of their own, at the same time.
    path_ = testing::TempDir() + "octavo_trace_" + std::to_string(getpid()) + "_" +
            std::to_string(count++) + ".jsonl";
    std::ofstream(path_, std::ios::binary) << content;
  }

  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A folder that holds these files, names and contents, while the object lives.
class TempFolder {
 public:
  TempFolder(std::initializer_list<std::pair<const char*, std::string>> files) {
    static int count = 0;
    path_ = testing::TempDir() + "octavo_folder_" + std::to_string(getpid()) + "_" +
            std::to_string(count++);
    std::filesystem::create_directory(path_);
    for (const auto& [name, content] : files) {
      std::ofstream(path_ + "/" + name, std::ios::binary) << content;
    }
  }

  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::vector<TraceRequest> read_all(TraceReader& reader) {
  std::vector<TraceRequest> requests;
  for (TraceRequest request; reader.next(request);) {
    requests.push_back(request);
  }
  return requests;
}

inline std::vector<TraceRequest> read_text(const std::string& content,
                                           const TraceOptions& options = {}) {
  const TempFile file(content);
  return read_all(*open_trace(file.path(), options));
}

/// The message of the InputError that `call` throws; fails when it throws nothing or another thing.
inline std::string input_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

/// The message of reading a file of this content, without the path in front.
inline std::string refusal(const std::string& content, const TraceOptions& options = {}) {
  const TempFile file(content);
  const std::string message = input_error_of([&] { read_all(*open_trace(file.path(), options)); });
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_EQ(message.rfind(file.path(), 0), 0U) << message;
  return message.substr(std::min(message.size(), file.path().size()));
}

inline std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace octavo::sim
