// Bytes of a file, or of memory, read a piece at a time: a file larger than memory can be read, and so can a pipe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace steelyard {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // that is read at a time

class Source {
 public:
  Source(const std::string& path) {
    if (path.find('\0') != std::string::npos) throw std::invalid_argument("cannot be opened");
#ifndef _WIN32
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) give_up("cannot be opened");
    if (S_ISREG(info.st_mode)) {
      size_ = static_cast<std::size_t>(info.st_size);
      return;
    }
    // A pipe has no size: it is read to its end.
    std::vector<char> block(kChunk);
    for (;;) {
      const ssize_t got = ::read(fd_, block.data(), block.size());
      if (got < 0) give_up("cannot be read");  // a folder
      if (got == 0) break;
      owned_.append(block.data(), static_cast<std::size_t>(got));
    }
#else
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (!file) throw std::invalid_argument("cannot be opened");
    std::vector<char> block(kChunk);
    for (std::size_t got; (got = std::fread(block.data(), 1, block.size(), file)) > 0;)
      owned_.append(block.data(), got);
    std::fclose(file);
#endif
    memory_ = owned_.data();
    size_ = owned_.size();
  }
  Source(const char* memory, std::size_t size) : memory_(memory), size_(size) {}
  ~Source() { close(); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::size_t size() const { return size_; }

  // Reads [from, from + count) as far as there is any; gives the number of bytes.
  std::size_t read(std::size_t from, std::size_t count, char* out) const {
    count = from < size_ ? std::min(count, size_ - from) : 0;
    if (memory_) {
      std::memcpy(out, memory_ + from, count);
      return count;
    }
#ifndef _WIN32
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(fd_, out + done, count - done, static_cast<off_t>(from + done));
      if (got < 0) throw std::invalid_argument("cannot be read");
      if (got == 0) break;  // it became shorter meanwhile
      done += static_cast<std::size_t>(got);
    }
    return done;
#else
    return 0;
#endif
  }

 private:
  void close() {
#ifndef _WIN32
    if (fd_ >= 0) ::close(fd_);
#endif
  }
  // For the constructor, behind which no destructor runs.
  [[noreturn]] void give_up(const char* what) {
    close();
    throw std::invalid_argument(what);
  }

  int fd_ = -1;
  std::string owned_;
  const char* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace steelyard
