// Memory for large results: not zeroed, grown as needed, handed on without a copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "support/pages.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace steelyard {

template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t n) : data_(static_cast<T*>(take_memory(n * sizeof(T)))), size_(n), room_(n) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }

  void reserve(std::size_t n) {
    if (n <= room_) return;
    const std::size_t room = std::max(n, room_ + room_ / 2 + 64);
    T* bigger = static_cast<T*>(take_memory(room * sizeof(T)));
    if (size_) std::memcpy(bigger, data_, size_ * sizeof(T));
    std::free(data_);
    data_ = bigger;
    room_ = room;
  }
  // What is added is not zeroed.
  void resize(std::size_t n) {
    reserve(n);
    size_ = n;
  }
  void push(T value) {
    if (size_ == room_) reserve(size_ + 1);
    data_[size_++] = value;
  }
  void append(const T* from, std::size_t n) {
    if (size_ + n > room_) reserve(size_ + n);
    if (n) std::memcpy(data_ + size_, from, n * sizeof(T));
    size_ += n;
  }
  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  // Gives the memory away, to be freed by std::free; `n` becomes the number of values.
  T* release(std::size_t& n) {
    reserve(1);
    T* data = data_;
    n = size_;
    data_ = nullptr;
    size_ = room_ = 0;
    return data;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

// Memory that is freed piece by piece while its contents are copied elsewhere: the allocator would keep the pieces, and
// the process hold both copies.
class Freed {
 public:
  void add(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ < kStep) return;
    bytes_ = 0;
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
  }

 private:
  static constexpr std::size_t kStep = std::size_t{1} << 24;
  std::size_t bytes_ = 0;
};

}  // namespace steelyard
