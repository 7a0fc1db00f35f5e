// How memory is asked for.
//
// Ten million rows of ids are hundreds of megabytes, and the first touch of each small page costs more than filling it.
// Where the system offers large pages on request, large blocks ask for them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace steelyard {

// Asks for what is soon to be read; any address will do.
inline void fetch_ahead([[maybe_unused]] const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#endif
}

inline void* take_memory(std::size_t bytes) {
#ifdef __linux__
  constexpr std::size_t kLargePage = std::size_t{1} << 21;
  if (bytes >= 4 * kLargePage) {
    void* block = nullptr;
    if (::posix_memalign(&block, kLargePage, bytes) != 0) throw std::bad_alloc();
    ::madvise(block, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, nothing changes
    return block;
  }
#endif
  void* block = std::malloc(bytes ? bytes : 1);
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace steelyard
