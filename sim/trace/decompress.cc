#include "decompress.h"

#include <limits>
#include <new>
#include <vector>

#include "octavo/sim/input_error.h"
#include <zlib.h>
#include <zstd.h>

namespace octavo::sim {
namespace {

constexpr std::size_t kCompressedBytes = std::size_t{64} << 10;

// The compressed side of a decoder: a buffer of it, and the words of its errors.
class Compressed {
 public:
  Compressed(std::unique_ptr<ByteSource> from, const std::string& name, const char* kind)
      : from_(std::move(from)), name_(name), kind_(kind), buffer_(kCompressedBytes) {}

  // At least one byte at hand, or false at the end of the file.
  bool more() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = from_->read(buffer_.data(), buffer_.size());
    }
    return begin_ != end_;
  }

  char* data() { return buffer_.data() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  void take(std::size_t bytes) { begin_ += bytes; }

  [[noreturn]] void refuse(const std::string& what) const { throw InputError(name_, 0, "", what); }

  [[noreturn]] void truncated() const {
    refuse(std::string("ends inside of its ") + kind_ + " data, expected a whole file");
  }

  [[noreturn]] void corrupt(const char* why) const {
    refuse(std::string("is no intact ") + kind_ + " data: " + why);
  }

 private:
  std::unique_ptr<ByteSource> from_;
  std::string name_;
  const char* kind_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // buffer_[begin_, end_) has not been decoded.
  std::size_t end_ = 0;
};

class GzipBytes final : public ByteSource {
 public:
  GzipBytes(std::unique_ptr<ByteSource> from, const std::string& name)
      : in_(std::move(from), name, "gzip") {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) {
      throw std::bad_alloc();
    }
  }

  ~GzipBytes() override { inflateEnd(&stream_); }

  std::size_t read(char* to, std::size_t size) override {
    const std::size_t wanted =
        size < std::numeric_limits<uInt>::max() / 2 ? size : std::numeric_limits<uInt>::max() / 2;
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(wanted);
    while (stream_.avail_out == wanted) {
      if (!in_.more()) {
        if (inside_) {
          in_.truncated();
        }
        return 0;
      }
      step();
    }
    return wanted - stream_.avail_out;
  }

 private:
  void step() {
    if (!inside_) {
      inside_ = true;  // The next member begins; what is no member is found out below.
      inflateReset(&stream_);
    }
    stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
    stream_.avail_in = static_cast<uInt>(in_.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in_.take(in_.size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
      inside_ = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      in_.corrupt(stream_.msg != nullptr ? stream_.msg : "it cannot be decoded");
    }
  }

  Compressed in_;
  z_stream stream_{};
  bool inside_ = true;  // Of a member.
};

class ZstdBytes final : public ByteSource {
 public:
  ZstdBytes(std::unique_ptr<ByteSource> from, const std::string& name)
      : in_(std::move(from), name, "Zstandard"), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) {
      throw std::bad_alloc();
    }
  }

  std::size_t read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0) {
      // What the decoder still holds comes before more input.
      if (!full_ && !in_.more()) {
        if (inside_) {
          in_.truncated();
        }
        return 0;
      }
      ZSTD_inBuffer in{in_.data(), in_.size(), 0};
      const std::size_t result = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(result) != 0) {
        in_.corrupt(ZSTD_getErrorName(result));
      }
      in_.take(in.pos);
      inside_ = result != 0;
      full_ = inside_ && out.pos == out.size;
    }
    return out.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const noexcept { ZSTD_freeDStream(stream); }
  };

  Compressed in_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  bool inside_ = true;  // Of a frame.
  bool full_ = false;   // The last call filled all it was given, so there may be more of it.
};

}  // namespace

std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> from, const std::string& name) {
  return std::make_unique<GzipBytes>(std::move(from), name);
}

std::unique_ptr<ByteSource> unzstd(std::unique_ptr<ByteSource> from, const std::string& name) {
  return std::make_unique<ZstdBytes>(std::move(from), name);
}

}  // namespace octavo::sim
