// Products of a warp's rows with a matrix in shared memory, and of a block's rows with each other.
//
// Shared memory hands a multiprocessor's registers 32 floats a clock against 128 multiply-adds: a
// thread needs eight rows by eight columns to keep both busy. A warp has eight rows; its lanes are
// columns and chains (network.cuh, chains_of), so that 64 columns too occupy a warp, and the chains
// meet in shuffles: each step halves a lane's rows, so that the last lanes share what is left.
#pragma once

#include "network.cuh"

namespace mlp {

// One step of merging chains: lanes `step` apart keep half of `kCount` rows each.
template <int kCount, int kColumns>
CK_DEVICE void merge_half(float (&sums)[kWarpRows][kColumns], int step) {
  const bool upper = (threadIdx.x & step) != 0;
  CK_UNROLL
  for (int j = 0; j < kCount / 2; ++j) {
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const float kept = upper ? sums[j + kCount / 2][c] : sums[j][c];
      const float sent = upper ? sums[j][c] : sums[j + kCount / 2][c];
      sums[j][c] = __fadd_rn(kept, __shfl_xor_sync(ck::kFullMask, sent, step));
    }
  }
}

// What a product multiplies: rows of the warp, and a matrix. K-major: term k of output n is
// matrix[k][n]; else matrix[n][k]. Terms past the last are zeros up to a multiple of four.
struct Product {
  const float* rows;
  int row_stride;
  const float* matrix;
  int matrix_stride;
  const float* bias;  // [outputs], or null
  int terms;
  int outputs;
  bool idle;  // the warp has no rows, and only meets the others
};

// Every chain of a product in pieces, so that the first pieces are multiplied while the others are
// on their way.
constexpr int kMostPieces = 4;
constexpr int kTermsWorthPieces = 32;
struct Pieces {
  int chains;
  int terms;  // of a chain
  int size;   // terms of a piece
  int count;
};
CK_DEVICE Pieces pieces_of(int terms, int outputs) {
  const int chains = chains_of(outputs);
  const int each = chain_terms(terms, chains);
  const int count = each >= kTermsWorthPieces ? kMostPieces : 1;
  return Pieces{chains, each, (each / 4 + count - 1) / count * 4, count};
}

// A lane's share of the terms.
struct Share {
  int first;
  int end;
};
CK_DEVICE Share share_of(const Product& p, int chain, int chains) {
  if (p.idle) return Share{0, 0};
  const int each = chain_terms(p.terms, chains);
  const int first = chain * each;
  return Share{first, min(first + each, padded(p.terms))};
}

// What a product reads is there already.
struct Arrived {
  static constexpr bool kInPieces = false;
};

// Stores a row's columns, from one lane. K-major: put(row, column, quad), zeros past the last
// output unless something is not finite; else put(row, column, value).
template <bool kKMajor, int kColumns, typename Put>
CK_DEVICE void put_row(const Product& p, const int (&column)[kColumns], int row,
                       const float (&sums)[kColumns], const Put& put) {
  if (p.idle) return;
  if constexpr (kKMajor) {
    CK_UNROLL
    for (int c = 0; c < kColumns; c += 4) {
      if (column[c] < p.outputs) {
        put(row, column[c], make_float4(sums[c], sums[c + 1], sums[c + 2], sums[c + 3]));
      }
    }
  } else {
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      if (column[c] < p.outputs) put(row, column[c], sums[c]);
    }
  }
}

// Eight rows, kQuads * 4 columns a lane.
// arrive_at(arrive, i) is called before piece i of every chain is read.
template <bool kKMajor, int kQuads, typename Arrive, typename Put>
CK_DEVICE void multiply_wide(const Product& p, const Arrive& arrive, const Put& put) {
  constexpr int kColumns = kQuads * 4;
  const int lane = threadIdx.x % ck::kWarp;
  const int chains = chains_of(p.outputs);
  const int places = ck::kWarp / chains;
  const int place = lane & (places - 1);
  const int chain = lane / places;
  // K-major: columns are quads, `places` quads apart; else single, `places` apart.
  int column[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    column[c] = kKMajor ? (place + c / 4 * places) * 4 + c % 4 : place + c * places;
  }
  // The bias comes with the first piece.
  if constexpr (Arrive::kInPieces) arrive_at(arrive, 0);
  float sums[kWarpRows][kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    const bool biased = (chain == 0 || CK_MUTANT(mlp_biases_every_chain)) && p.bias != nullptr &&
                        column[c] < p.outputs;
    const float bias = biased ? p.bias[column[c]] : 0.0f;
    CK_UNROLL
    for (int j = 0; j < kWarpRows; ++j) sums[j][c] = bias;
  }
  // Where there is no column, others' are read and nothing is stored.
  const float* at[kKMajor ? kQuads : kColumns];
  CK_UNROLL
  for (int i = 0; i < (kKMajor ? kQuads : kColumns); ++i) {
    const int c = column[kKMajor ? i * 4 : i];
    at[i] = p.matrix + (c < p.outputs ? c : 0) * (kKMajor ? 1 : p.matrix_stride);
  }
  const Share share = share_of(p, chain, chains);
  const auto add = [&](int first, int end) {
    CK_NO_UNROLL
    for (int k = first; k < end; k += 4) {
      if (kKMajor) {
        float4 row[kWarpRows];
        CK_UNROLL
        for (int j = 0; j < kWarpRows; ++j) row[j] = quad_at(p.rows + j * p.row_stride + k);
        CK_UNROLL
        for (int kk = 0; kk < 4; ++kk) {
          CK_UNROLL
          for (int q = 0; q < kQuads; ++q) {
            const float4 w = quad_at(at[q] + (k + kk) * p.matrix_stride);
            CK_UNROLL
            for (int j = 0; j < kWarpRows; ++j) {
              const float x = component(row[j], kk);
              sums[j][q * 4] = __fmaf_rn(x, w.x, sums[j][q * 4]);
              sums[j][q * 4 + 1] = __fmaf_rn(x, w.y, sums[j][q * 4 + 1]);
              sums[j][q * 4 + 2] = __fmaf_rn(x, w.z, sums[j][q * 4 + 2]);
              sums[j][q * 4 + 3] = __fmaf_rn(x, w.w, sums[j][q * 4 + 3]);
            }
          }
        }
      } else {
        float4 w[kColumns];
        CK_UNROLL
        for (int c = 0; c < kColumns; ++c) w[c] = quad_at(at[kKMajor ? 0 : c] + k);
        CK_UNROLL
        for (int j = 0; j < kWarpRows; ++j) {
          const float4 row = quad_at(p.rows + j * p.row_stride + k);
          CK_UNROLL
          for (int c = 0; c < kColumns; ++c) sums[j][c] = dot_quad(sums[j][c], row, w[c]);
        }
      }
    }
  };
  if constexpr (Arrive::kInPieces) {
    const Pieces& pieces = arrive.pieces;
    CK_NO_UNROLL
    for (int i = 0; i < pieces.count; ++i) {
      if (i > 0) arrive_at(arrive, i);
      const int first = share.first + i * pieces.size;
      add(first, min(first + pieces.size, share.end));
    }
  } else {
    add(share.first, share.end);
  }
  if (chains == 4) {
    // Chains are eight lanes apart.
    merge_half<kWarpRows>(sums, CK_MUTANT(mlp_merges_far_chains_first) ? 16 : 8);
    merge_half<kWarpRows / 2>(sums, CK_MUTANT(mlp_merges_far_chains_first) ? 8 : 16);
    const int first = lane / 8 % 2 * 4 + lane / 16 * 2;
    CK_UNROLL
    for (int j = 0; j < 2; ++j) put_row<kKMajor>(p, column, first + j, sums[j], put);
  } else {
    merge_half<kWarpRows>(sums, 16);
    const int first = lane / 16 * 4;
    CK_UNROLL
    for (int j = 0; j < 4; ++j) put_row<kKMajor>(p, column, first + j, sums[j], put);
  }
}

// A row and a chain a lane, for few columns: four at a time.
template <bool kKMajor, typename Arrive, typename Put>
CK_DEVICE void multiply_narrow(const Product& p, const Arrive& arrive, const Put& put) {
  constexpr int kChains = 4;
  if constexpr (Arrive::kInPieces) {
    for (int i = 0; i < arrive.pieces.count; ++i) arrive_at(arrive, i);
  }
  const int lane = threadIdx.x % ck::kWarp;
  const int row = lane % kWarpRows;
  const int chain = lane / kWarpRows;
  const Share share = share_of(p, chain, kChains);
  const float* const x = p.rows + row * p.row_stride;
  CK_NO_UNROLL
  for (int first = 0; first < p.outputs; first += 4) {
    float sums[4];
    CK_UNROLL
    for (int c = 0; c < 4; ++c) {
      const bool biased = chain == 0 && p.bias != nullptr && first + c < p.outputs;
      sums[c] = biased ? p.bias[first + c] : 0.0f;
    }
    CK_UNROLL_BY(2)
    for (int k = share.first; k < share.end; k += 4) {
      const float4 a = quad_at(x + k);
      CK_UNROLL
      for (int i = 0; i < 4; ++i) {
        if (kKMajor) {
          const float4 w = quad_at(p.matrix + (k + i) * p.matrix_stride + first);
          const float term = component(a, i);
          sums[0] = __fmaf_rn(term, w.x, sums[0]);
          sums[1] = __fmaf_rn(term, w.y, sums[1]);
          sums[2] = __fmaf_rn(term, w.z, sums[2]);
          sums[3] = __fmaf_rn(term, w.w, sums[3]);
        } else {
          const int n = first + i < p.outputs ? first + i : first;
          sums[i] = dot_quad(sums[i], a, quad_at(p.matrix + n * p.matrix_stride + k));
        }
      }
    }
    CK_UNROLL
    for (int step = kWarpRows; step < ck::kWarp; step *= 2) {
      CK_UNROLL
      for (int c = 0; c < 4; ++c) {
        sums[c] = __fadd_rn(sums[c], __shfl_xor_sync(ck::kFullMask, sums[c], step));
      }
    }
    if constexpr (kKMajor) {
      if (chain == 0 && !p.idle) put(row, first, make_float4(sums[0], sums[1], sums[2], sums[3]));
    } else {
      // Each lane of the row stores one.
      const float own = chain == 0   ? sums[0]
                        : chain == 1 ? sums[1]
                        : chain == 2 ? sums[2]
                                     : sums[3];
      if (first + chain < p.outputs && !p.idle) put(row, first + chain, own);
    }
  }
}

constexpr int kNarrowOutputs = 16;
constexpr int kSmallOutputs = 32;   // of every product of the kernel for small networks
constexpr int kFusedOutputs = 128;  // of a product of a warp

// One warp: all outputs of its eight rows.
template <bool kWide, bool kKMajor, typename Arrive, typename Put>
CK_DEVICE void multiply(const Product& p, const Arrive& arrive, const Put& put) {
  if (p.outputs <= kNarrowOutputs) {
    multiply_narrow<kKMajor>(p, arrive, put);
  } else {
    multiply_wide<kKMajor, kWide ? 2 : 1>(p, arrive, put);
  }
}

// Sums of products over rows: left^T right. A block shares the outputs.
struct Outer {
  const float* left;
  int left_stride;
  int left_count;
  const float* right;
  int right_stride;
  int right_count;
  float* sums;  // [left_count, padded(right_count)], in global memory
};

// Selected member by member: what is selected by reference becomes a stack.
CK_DEVICE Outer chosen(bool is_first, const Outer& a, const Outer& b) {
  return Outer{is_first ? a.left : b.left,
               is_first ? a.left_stride : b.left_stride,
               is_first ? a.left_count : b.left_count,
               is_first ? a.right : b.right,
               is_first ? a.right_stride : b.right_stride,
               is_first ? a.right_count : b.right_count,
               is_first ? a.sums : b.sums};
}

constexpr int kOuterLeft = 32;  // of a warp's turn
constexpr int kOuterRight = 64;

CK_HOST_DEVICE int outer_turns(int left, int right) {
  return (left + kOuterLeft - 1) / kOuterLeft * ((right + kOuterRight - 1) / kOuterRight);
}

// One warp: 32 by 64 outputs, eight by eight a lane.
CK_DEVICE void add_outer(const Outer& o, int turn, int rows, bool is_first) {
  const int lane = threadIdx.x % ck::kWarp;
  const int across = (o.right_count + kOuterRight - 1) / kOuterRight;
  const int left0 = turn / across * kOuterLeft + lane / 8 * 4;
  const int right0 = turn % across * kOuterRight + lane % 8 * 4;
  const int left[2] = {left0, left0 + kOuterLeft / 2};
  const int right[2] = {right0, right0 + kOuterRight / 2};
  const int stride = padded(o.right_count);
  float sums[8][8];
  CK_UNROLL
  for (int j = 0; j < 8; ++j) {
    const int l = left[j / 4] + j % 4;
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
      float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      const bool there = l < o.left_count && right[half] < o.right_count;
      if (!is_first && there) v = quad_at(o.sums + l * stride + right[half]);
      sums[j][half * 4] = v.x;
      sums[j][half * 4 + 1] = v.y;
      sums[j][half * 4 + 2] = v.z;
      sums[j][half * 4 + 3] = v.w;
    }
  }
  // Where there is no element, others' are read and nothing is stored.
  const float* const a0 = o.left + (left[0] < o.left_count ? left[0] : 0);
  const float* const a1 = o.left + (left[1] < o.left_count ? left[1] : 0);
  const float* const b0 = o.right + (right[0] < o.right_count ? right[0] : 0);
  const float* const b1 = o.right + (right[1] < o.right_count ? right[1] : 0);
  CK_UNROLL_BY(4)
  for (int r = 0; r < rows; ++r) {
    const float4 a[2] = {quad_at(a0 + r * o.left_stride), quad_at(a1 + r * o.left_stride)};
    const float4 b[2] = {quad_at(b0 + r * o.right_stride), quad_at(b1 + r * o.right_stride)};
    CK_UNROLL
    for (int j = 0; j < 8; ++j) {
      CK_UNROLL
      for (int c = 0; c < 8; ++c) {
        sums[j][c] = __fmaf_rn(component(a[j / 4], j % 4), component(b[c / 4], c % 4), sums[j][c]);
      }
    }
  }
  CK_UNROLL
  for (int j = 0; j < 8; ++j) {
    const int l = left[j / 4] + j % 4;
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (l >= o.left_count || right[half] >= o.right_count) continue;
      put_quad(o.sums + l * stride + right[half],
               make_float4(sums[j][half * 4], sums[j][half * 4 + 1], sums[j][half * 4 + 2],
                           sums[j][half * 4 + 3]));
    }
  }
}

// One thread: a quad of outputs of one element of the left, or of the bias behind the last.
CK_DEVICE void add_outer_quad(const Outer& o, float* bias_sums, int turn, int rows, bool is_first) {
  const int quads = padded(o.right_count) / 4;
  const int l = turn / quads;
  const int right = turn % quads * 4;
  const bool is_bias = l >= o.left_count;
  float* const to = (is_bias ? bias_sums : o.sums + l * padded(o.right_count)) + right;
  float4 sum = is_first ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : quad_at(to);
  CK_UNROLL_BY(8)
  for (int r = 0; r < rows; ++r) {
    const float4 b = quad_at(o.right + r * o.right_stride + right);
    // 1 * b + sum is rounded once, as b + sum is.
    const float a = is_bias ? 1.0f : o.left[r * o.left_stride + l];
    sum = make_float4(__fmaf_rn(a, b.x, sum.x), __fmaf_rn(a, b.y, sum.y), __fmaf_rn(a, b.z, sum.z),
                      __fmaf_rn(a, b.w, sum.w));
  }
  put_quad(to, sum);
}

}  // namespace mlp
