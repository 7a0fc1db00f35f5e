// Kernels that are compiled once for each set of instructions, and chosen when they are first called.
//
// The files of this folder are built as kernels_baseline and, on x86-64, once more as kernels_avx2
// (native/CMakeLists.txt). Each build stands in a namespace of its own, STEELYARD_TARGET, and gives one table of
// functions. The best one that the machine can run is taken; with STEELYARD_SIMD=baseline in the environment, the
// first. All give the same bits: nothing is fused, and no sum is added up in another order.
//
// A new kernel here: a function in wide/<name>.cpp, its declaration in wide/target.hpp, a member below.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ap/figures.hpp"
#include "images/information.hpp"
#include "losses/focal.hpp"

namespace steelyard {

constexpr std::size_t kWeightUnits = 256, kWeightDraws = 32;

struct WideKernels {
  const char* name;
  void (*walk_class)(const ClassJob&);
  void (*count_class)(const ClassJob&);
  void (*walk_rows)(const RowJob&);
  void (*walk_drawn)(const DrawnJob&);
  // Poisson(1) weights [kWeightDraws][kWeightUnits] of draws from `first` on, one stream per unit.
  void (*poisson_weights)(const std::uint64_t* streams, std::size_t units, std::size_t first, double* out);
  // The same as bytes, [units][kWeightDraws].
  void (*poisson_counts)(const std::uint64_t* streams, std::size_t units, std::size_t first, std::uint8_t* out);
  // Rows of bytes times vectors of bytes, each sum from `start` on, kept as the bits of a float; see language/dots.cpp.
  void (*byte_products)(const std::int8_t* weights, std::size_t rows, std::size_t columns, const std::int8_t* x,
                        std::size_t vectors, std::int32_t start, float* out);
  // The sum of the focal loss of a stretch of logits; see losses/focal.hpp.
  double (*focal_stretch)(const FocalStretch& job);
  // Rows of visual information fidelity; see images/information.hpp.
  void (*filter_row)(const FilterRow& job);
  void (*information_row)(InformationRow& job);
};

const WideKernels& wide_kernels();
// Whether the environment asks for the baseline: then nothing chosen for a machine is used anywhere.
bool baseline_only();

}  // namespace steelyard
