#include "octavo/sim/kv_event_log.h"

#include "event_decoder.h"
#include "event_file.h"

namespace octavo::sim {

std::string to_text(const KvBlockName& name) {
  constexpr std::size_t kShownBytes = 12;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (std::size_t i = 1; i < name.size() && i <= kShownBytes; ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15U];
  }
  return name.size() > kShownBytes + 1 ? text + "..." : text;
}

const char* to_string(KvEventKind kind) noexcept {
  switch (kind) {
    case KvEventKind::BlockStored:
      return "BlockStored";
    case KvEventKind::BlockRemoved:
      return "BlockRemoved";
    case KvEventKind::AllBlocksCleared:
      return "AllBlocksCleared";
  }
  return "unknown";
}

const char* to_string(KvEventFraming framing) noexcept {
  switch (framing) {
    case KvEventFraming::Values:
      return "values";
    case KvEventFraming::Frames:
      return "frames";
    case KvEventFraming::Multipart:
      return "multipart";
    case KvEventFraming::Lines:
      return "lines";
  }
  return "unknown";
}

class KvEventReader::Impl {
 public:
  explicit Impl(const std::string& path) : file_(path) {}

  bool next(KvEventBatch& batch) {
    if (!file_.next()) {
      return false;
    }
    batch.sequence = file_.sequence();
    try {
      decoder_.decode(file_.payload(), batch);
    } catch (const MsgpackError& error) {
      const std::string& where = decoder_.where();
      file_.refuse(file_.payload_offset() + decoder_.offset(),
                   where.empty() ? error.what() : where + ": " + error.what());
    }
    return true;
  }

  const EventFile& file() const { return file_; }

 private:
  EventFile file_;
  EventDecoder decoder_;
};

KvEventReader::KvEventReader(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
KvEventReader::~KvEventReader() = default;
KvEventReader::KvEventReader(KvEventReader&&) noexcept = default;
KvEventReader& KvEventReader::operator=(KvEventReader&&) noexcept = default;

bool KvEventReader::next(KvEventBatch& batch) {
  return impl_->next(batch);
}

KvEventFraming KvEventReader::framing() const noexcept {
  return impl_->file().framing();
}

const std::string& KvEventReader::name() const noexcept {
  return impl_->file().name();
}

std::int64_t KvEventReader::batch_number() const noexcept {
  return impl_->file().batch_number();
}

std::string KvEventReader::place() const {
  const EventFile& file = impl_->file();
  return file.line() > 0 ? "line " + std::to_string(file.line())
                         : "byte " + std::to_string(file.payload_offset());
}

}  // namespace octavo::sim
