// Memory for the length of a task, not zeroed, on a multiple of 64 bytes.
#pragma once

#include <cstddef>
#include <new>

namespace steelyard {

class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : data_(::operator new(bytes ? bytes : 1, kAlignment)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::operator delete(data_, kAlignment); }
  void* data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  void* data_;
};

}  // namespace steelyard
