#include "process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <fcntl.h>  // pipe2
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace octavo::cli {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe2 failed");
  }
  return {ends[0], ends[1]};
}

// In the child. Only calls that are safe between fork and exec.
[[noreturn]] void become(char* const* argv, const char* directory, int in, int out, int err) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::signal(SIGINT, SIG_DFL);
  if (*directory == '\0' || ::chdir(directory) == 0) {
    ::execv(argv[0], argv);
  }
  ::_exit(127);
}

// Both at once, so that neither pipe fills up while the other is waited for.
void drain(int out, int err, Finished& finished) {
  std::array<pollfd, 2> ends{{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  std::array<std::string*, 2> texts{&finished.out, &finished.err};
  int open = 2;
  while (open > 0) {
    if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) {
      throw std::runtime_error("poll failed");
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) {
        continue;
      }
      std::array<char, 4096> buffer{};
      const ssize_t count = ::read(ends[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
      } else {
        ends[i].fd = -1;  // poll passes over it from now on
        --open;
      }
    }
  }
}

// With a `signal_number`, stdin is a pipe that stays open and the signal is sent; else it is empty.
Finished run(std::vector<std::string> words, const std::string& directory, int signal_number = 0) {
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  Pipe in = make_pipe();
  if (signal_number == 0) {
    ::close(in.write);
    in.write = -1;
  }
  const Pipe out = make_pipe();
  const Pipe err = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) {
    throw std::runtime_error("fork failed");
  }
  if (child == 0) {
    become(argv.data(), directory.c_str(), in.read, out.write, err.write);
  }
  ::close(in.read);
  ::close(out.write);
  ::close(err.write);
  if (signal_number != 0) {
    ::usleep(200'000);
    ::kill(child, signal_number);
  }
  Finished finished;
  drain(out.read, err.read, finished);
  ::close(out.read);
  ::close(err.read);
  if (in.write >= 0) {
    ::close(in.write);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

}  // namespace

Finished run_octavo(const std::vector<std::string>& args, const std::string& directory) {
  std::vector<std::string> words{OCTAVO_PROGRAM};
  words.insert(words.end(), args.begin(), args.end());
  return run(std::move(words), directory);
}

Finished run_octavo_until(int signal_number, const std::vector<std::string>& args) {
  std::vector<std::string> words{OCTAVO_PROGRAM};
  words.insert(words.end(), args.begin(), args.end());
  return run(std::move(words), {}, signal_number);
}

Finished run_shell(const std::string& line, const std::string& directory) {
  ::setenv("OCTAVO", OCTAVO_PROGRAM, 1);
  return run({"/bin/sh", "-c", line}, directory);
}

}  // namespace octavo::cli
