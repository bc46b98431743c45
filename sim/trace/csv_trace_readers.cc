// The CSV formats: Azure, BurstGPT, Vidur, Splitwise-sim. None of them says what prompts share.

#include "csv_reader.h"
#include "datetime.h"
#include "decimal.h"
#include "json_scanner.h"
#include "name_table.h"
#include "octavo/sim/input_error.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

class CsvTraceReader : public TraceReader {
 public:
  std::int64_t line() const noexcept override { return csv_.line(); }

 protected:
  CsvTraceReader(CsvReader&& csv, TraceFormat format, bool arrivals = true)
      : TraceReader(csv.name(),
                    format,
                    /*block_size=*/1,
                    {.prefix_ids = false, .arrivals = arrivals}),
        csv_(std::move(csv)) {}

  CsvReader& csv() noexcept { return csv_; }

 private:
  bool read(TraceRequest& request) final {
    if (!csv_.next()) {
      if (!any_) {
        throw InputError(name(), csv_.line(), "", "only a header, expected requests behind it");
      }
      return false;
    }
    any_ = true;
    request.clear();
    read_record(request);
    return true;
  }

  virtual void read_record(TraceRequest& request) = 0;

  CsvReader csv_;
  bool any_ = false;
};

class AzureReader final : public CsvTraceReader {
 public:
  explicit AzureReader(CsvReader&& reader)
      : CsvTraceReader(std::move(reader), TraceFormat::Azure),
        time_(csv().column("TIMESTAMP")),
        input_(csv().column("ContextTokens")),
        output_(csv().column("GeneratedTokens")),
        images_(csv().find("NumImages")) {}

 private:
  void read_record(TraceRequest& request) override {
    std::int64_t time_ns = 0;
    const std::string_view text = csv().text(time_);
    if (!parse_datetime_ns(text, time_ns)) {
      csv().refuse(time_, "is no date with a time (" + shown(text) +
                              "), expected YYYY-MM-DD hh:mm:ss[.fraction][zone]");
    }
    if (!start_ns_) {
      start_ns_ = time_ns;
    }
    if (time_ns < *start_ns_ || __builtin_sub_overflow(time_ns, *start_ns_, &request.arrival_ns)) {
      csv().refuse(
          time_, "is before that of the first row (" + shown(text) + "), expected none before it");
    }
    request.input_tokens = csv().count(input_, 1);
    request.output_tokens = csv().count(output_, 0);
    request.media = images_ ? csv().count(*images_, 0) : 0;
  }

  std::size_t time_;
  std::size_t input_;
  std::size_t output_;
  std::optional<std::size_t> images_;
  std::optional<std::int64_t> start_ns_;  // The first row's.
};

// Takes memory for each distinct session.
class BurstGptReader final : public CsvTraceReader {
 public:
  explicit BurstGptReader(CsvReader&& reader)
      : CsvTraceReader(std::move(reader), TraceFormat::BurstGpt),
        time_(csv().column("Timestamp")),
        input_(csv().column("Request tokens")),
        output_(csv().column("Response tokens")),
        session_(csv().find("Session ID")),
        elapsed_(csv().find("Elapsed time")) {}

 private:
  void read_record(TraceRequest& request) override {
    request.arrival_ns = csv().time_ns(time_, kSecondDigits);
    request.input_tokens = csv().count(input_, 1);
    request.output_tokens = csv().count(output_, 0);
    if (session_ && !csv().text(*session_).empty()) {
      request.session = sessions_.number(csv().text(*session_));
    }
    if (elapsed_ && !csv().text(*elapsed_).empty()) {
      request.service_ns = csv().time_ns(*elapsed_, kSecondDigits);
    }
  }

  std::size_t time_;
  std::size_t input_;
  std::size_t output_;
  std::optional<std::size_t> session_;
  std::optional<std::size_t> elapsed_;
  NameTable sessions_;
};

class VidurReader final : public CsvTraceReader {
 public:
  explicit VidurReader(CsvReader&& reader)
      : CsvTraceReader(std::move(reader),
                       TraceFormat::Vidur,
                       /*arrivals=*/reader.find("arrived_at").has_value()),
        time_(csv().find("arrived_at")),
        input_(csv().column("num_prefill_tokens")),
        output_(csv().column("num_decode_tokens")) {
    for (const std::string& column : csv().columns()) {
      if (column.find("block") != std::string::npos ||
          column.find("session") != std::string::npos) {
        throw InputError(name(), csv().line(), column,
                         "belongs to a later Vidur, which lengthens prompts and names blocks of "
                         "prompt and output together, expected lengths and times only");
      }
    }
  }

 private:
  void read_record(TraceRequest& request) override {
    request.arrival_ns = time_ ? csv().time_ns(*time_, kSecondDigits) : 0;
    request.input_tokens = csv().count(input_, 1);
    request.output_tokens = csv().count(output_, 0);
  }

  std::optional<std::size_t> time_;
  std::size_t input_;
  std::size_t output_;
};

class SplitwiseReader final : public CsvTraceReader {
 public:
  explicit SplitwiseReader(CsvReader&& reader)
      : CsvTraceReader(std::move(reader), TraceFormat::Splitwise),
        time_(csv().column("arrival_timestamp")),
        input_(csv().column("prompt_size")),
        output_(csv().column("token_size")),
        batch_(csv().find("batch_size")) {}

 private:
  void read_record(TraceRequest& request) override {
    request.arrival_ns = csv().time_ns(time_, kSecondDigits);
    request.input_tokens = csv().count(input_, 1);
    request.output_tokens = csv().count(output_, 0);
    if (batch_ && csv().count(*batch_, 0) != 1) {
      csv().refuse(*batch_,
                   "is " + std::string(csv().text(*batch_)) + ", expected 1: a row is one request");
    }
  }

  std::size_t time_;
  std::size_t input_;
  std::size_t output_;
  std::optional<std::size_t> batch_;
};

}  // namespace

std::unique_ptr<TraceReader> open_csv(LineReader&& lines, TraceFormat format) {
  CsvReader csv(std::move(lines));
  switch (format) {
    case TraceFormat::Azure:
      return std::make_unique<AzureReader>(std::move(csv));
    case TraceFormat::BurstGpt:
      return std::make_unique<BurstGptReader>(std::move(csv));
    case TraceFormat::Vidur:
      return std::make_unique<VidurReader>(std::move(csv));
    default:
      return std::make_unique<SplitwiseReader>(std::move(csv));
  }
}

}  // namespace octavo::sim
