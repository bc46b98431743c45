#include "exit_status.h"

#include <exception>
#include <new>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/input_error.h"

namespace octavo::tools {
namespace {

ExitCode code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::Unimplemented:
      return kExitUsage;
    case ErrorCode::ResourceExhausted:
      return kExitDoesNotFit;
    case ErrorCode::FailedPrecondition:
    case ErrorCode::DeviceError:
    case ErrorCode::Internal:
      return kExitInternal;
  }
  return kExitInternal;
}

// CLI11 starts some of its messages with a capital letter; behind "octavo replay: " none stands.
std::string uncapitalised(std::string text) {
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (text.size() > 1 && is_capital(text[0]) && !is_capital(text[1])) {  // "A file", not "INI"
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

}  // namespace

void write_error(std::string_view command, std::string_view message, std::ostream& err) {
  std::string line(command);
  line += ": ";
  line += message;
  while (!line.empty() && line.back() == '\n') {
    line.pop_back();
  }
  for (char& c : line) {
    if (c == '\n' || c == '\r') {
      c = ' ';
    }
  }
  line += '\n';
  err << line << std::flush;  // in one piece, so that parallel runs do not mix their lines
}

ExitCode report_current_exception(std::string_view command, std::ostream& err) {
  const auto usage = [&](const std::string& message) {
    std::string text = message;
    text += " (see ";
    text += command;
    text += " --help)";
    write_error(command, text, err);
    return kExitUsage;
  };
  try {
    throw;
  } catch (const CLI::ParseError& error) {
    return usage(uncapitalised(error.what()));
  } catch (const UsageError& error) {
    return usage(error.what());
  } catch (const sim::InputError& error) {
    write_error(command, error.what(), err);
    return kExitBadInput;
  } catch (const Error& error) {
    write_error(command, error.what(), err);
    return code_of(error.code());
  } catch (const std::bad_alloc&) {
    write_error(command, "out of memory", err);
  } catch (const std::exception& error) {
    write_error(command, std::string("internal error: ") + error.what(), err);
  } catch (...) {
    write_error(command, "internal error", err);
  }
  return kExitInternal;
}

}  // namespace octavo::tools
