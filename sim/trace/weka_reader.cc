// A trace of WEKA sessions: one file, or a folder of them in the order of their names. Each session
// starts at time 0. Memory is that of the largest session.

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "octavo/sim/input_error.h"
#include "prefix_chain.h"
#include "trace_readers.h"
#include "weka_session.h"

namespace octavo::sim {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The session files of a folder: what ends in .json, compressed or not, but no hidden files.
std::vector<std::string> session_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.front() != '.' &&
        (ends_with(name, ".json") || ends_with(name, ".json.gz") || ends_with(name, ".json.zst"))) {
      names.push_back(name);
    }
  }
  if (error) {
    throw InputError(folder, 0, "", "cannot be read: " + error.message());
  }
  if (names.empty()) {
    throw InputError(folder, 0, "",
                     "is a directory without *.json, expected a trace file or WEKA sessions");
  }
  std::sort(names.begin(), names.end());
  for (std::string& name : names) {
    name = (std::filesystem::path(folder) / name).string();
  }
  return names;
}

WekaSession read_session(LineReader& lines) {
  std::string_view line;
  if (!lines.next(line)) {
    throw InputError(lines.name(), 0, "", "is empty, expected a WEKA session");
  }
  const std::int64_t number = lines.line();
  return parse_weka_session(lines.name(), lines.document(), number);
}

class WekaReader final : public TraceReader {
 public:
  // `files` are those behind the first session.
  WekaReader(std::string name, WekaSession&& first, std::vector<std::string> files, bool folder)
      : TraceReader(std::move(name), TraceFormat::Weka, first.block_size, {.tail_has_id = false}),
        folder_(folder),
        files_(std::move(files)) {
    take(std::move(first));
  }

  std::int64_t line() const noexcept override { return line_; }

 private:
  bool read(TraceRequest& request) override {
    while (at_ == session_.requests.size()) {
      if (file_ == files_.size()) {
        if (handed_out_ == 0) {
          throw InputError(name(), 0, "requests", "there is none, expected at least one");
        }
        return false;
      }
      const std::string& path = files_[file_++];
      LineReader lines(path);
      WekaSession next = read_session(lines);
      if (next.block_size != block_size()) {
        throw InputError(path, 0, "block_size",
                         "is " + std::to_string(next.block_size) + ", expected " +
                             std::to_string(block_size()) + " as in the first session");
      }
      take(std::move(next));
    }
    request = std::move(session_.requests[at_]);
    line_ = session_.lines[at_];
    ++at_;
    ++handed_out_;
    return true;
  }

  // Makes the numbers of a session those of the trace.
  void take(WekaSession&& session) {
    session_ = std::move(session);
    at_ = 0;
    for (TraceRequest& request : session_.requests) {
      *request.session += next_session_;
      if (request.parent_session) {
        *request.parent_session += next_session_;
      }
      for (std::int64_t& index : request.wait_for) {
        index += handed_out_;
      }
      if (folder_ && !session_.global_ids) {
        for (std::uint64_t& id : request.block_ids) {
          id = chain_id(file_ + 1, id);
        }
      }
    }
    next_session_ += session_.sessions;
  }

  bool folder_;
  std::vector<std::string> files_;
  std::size_t file_ = 0;  // The next one.
  WekaSession session_;
  std::size_t at_ = 0;
  std::int64_t handed_out_ = 0;
  std::uint64_t next_session_ = 0;
  std::int64_t line_ = 0;
};

void check_block(const std::string& name, const WekaSession& session, std::int64_t block_size) {
  if (block_size != 0 && block_size != session.block_size) {
    throw InputError(name, 0, "block_size",
                     "is " + std::to_string(session.block_size) +
                         ", expected the trace block asked for, " + std::to_string(block_size));
  }
}

}  // namespace

std::unique_ptr<TraceReader> open_weka(LineReader&& lines, std::int64_t block_size) {
  WekaSession session = read_session(lines);
  check_block(lines.name(), session, block_size);
  return std::make_unique<WekaReader>(lines.name(), std::move(session), std::vector<std::string>{},
                                      /*folder=*/false);
}

std::unique_ptr<TraceReader> open_weka_folder(const std::string& folder, std::int64_t block_size) {
  std::vector<std::string> files = session_files(folder);
  LineReader lines(files.front());
  WekaSession session = read_session(lines);
  check_block(files.front(), session, block_size);
  files.erase(files.begin());
  return std::make_unique<WekaReader>(folder, std::move(session), std::move(files),
                                      /*folder=*/true);
}

}  // namespace octavo::sim
