// A network in a block's shared memory: weights once, then tiles of rows, forward and back.
//
// A warp takes eight rows of a tile from x to dz1 on its own; the block meets before the sums over
// rows, which stay in registers while a tile lasts and in the workspace between tiles. 8,192 rows
// are 128 partial sums of 64 rows: one tile a block, one block a multiprocessor of an H200.
//
// Multiply-adds and shared-memory loads of 128-128-64 with all gradients, in clocks of a
// multiprocessor: z1 8,192 and 8,192, z2 4,096 and 6,144 (its chains are short), du 4,096 and
// 4,096, d_w1 8,192 and 8,192, d_w2 4,096 and 4,096.
#pragma once

#include "products.cuh"

namespace mlp {

// Where a network's arrays lie in shared memory, in floats.
struct Layout {
  int w1;
  int w2;
  int b1;
  int b2;
  int x;
  int u;
  int dz1;
  int dz2;
  int squares;  // sums over quads of outputs, for the rewards
  int rewards;
  int rows_of;  // indexed actions: the rows of the tile that have one, two words each
  int count;
};

constexpr int kTile = kWarps * kWarpRows;  // rows at most: a warp has eight

CK_HOST_DEVICE int quads_of(int outputs) { return (outputs + 3) / 4; }

CK_HOST_DEVICE Layout layout_of(const Network& n) {
  const bool back = n.mode != kForward;
  Layout at;
  int next = 0;
  at.w1 = next;
  next += (padded(n.inputs) + n.action_count) * row_floats(n.hidden);
  at.w2 = next;
  next += padded(n.hidden) * row_floats(n.outputs);
  at.b1 = next;
  next += padded(n.hidden);
  at.b2 = next;
  next += padded(n.outputs);
  at.x = next;
  next += n.tile * row_floats(n.inputs);
  at.u = next;
  next += n.tile * row_floats(n.hidden);
  at.dz1 = next;
  if (back) next += n.tile * row_floats(n.hidden);
  at.dz2 = next;
  next += n.tile * row_floats(n.outputs);
  at.squares = next;
  if (n.mode == kCuriosity) next += n.tile * row_floats(quads_of(n.outputs));
  at.rewards = next;
  if (n.mode == kCuriosity) next += n.tile;
  at.rows_of = next;
  if (n.actions != nullptr) next += padded(2 * n.action_count + n.tile);
  at.count = next;
  return at;
}

// Networks of one launch: blocks of network i are first[i] .. first[i + 1] - 1.
template <int kMost>
struct Group {
  int count;
  int first[kMost + 1];
  Network networks[kMost];
};

// One warp asks for a row, and fills it with zeros up to a multiple of four.
CK_DEVICE void ask_row(float* to, const float* from, int width, bool quads) {
  const int lane = threadIdx.x % ck::kWarp;
  const int whole = quads ? width / 4 * 4 : 0;
  for (int c = lane * 4; c < whole; c += ck::kWarp * 4) ck::copy_async_16(to + c, from + c);
  for (int c = whole + lane; c < width; c += ck::kWarp) ck::copy_async_4(to + c, from + c);
}
CK_DEVICE void clear_row(float* to, int first, int end) {
  for (int c = first + static_cast<int>(threadIdx.x) % ck::kWarp; c < end; c += ck::kWarp) {
    to[c] = 0.0f;
  }
}

// The block asks for a bias; zeros where there is none.
CK_DEVICE void ask_bias(float* to, const float* from, int count) {
  for (int c = threadIdx.x; c < padded(count); c += kThreads) {
    if (from != nullptr && c < count) {
      ck::copy_async_4(to + c, from + c);
    } else {
      to[c] = 0.0f;
    }
  }
}

// The block asks for a matrix, zeros up to a multiple of four of its columns, and zero rows up to
// `end`.
CK_DEVICE void ask_matrix(float* to, const float* from, int rows, int end, int columns,
                          bool quads) {
  const int stride = row_floats(columns);
  CK_NO_UNROLL
  for (int k = threadIdx.x / ck::kWarp; k < end; k += kWarps) {
    if (k < rows)
      ask_row(to + k * stride, from + static_cast<int64_t>(k) * columns, columns, quads);
    clear_row(to + k * stride, k < rows ? columns : 0, padded(columns));
  }
}

// A warp asks for its rows of a source; zeros past `rows`.
CK_DEVICE void ask_rows(float* to, int stride, const Source& source, int64_t row0, int rows) {
  const int own = static_cast<int>(threadIdx.x) / ck::kWarp * kWarpRows;
  CK_NO_UNROLL
  for (int r = own; r < own + kWarpRows; ++r) {
    float* const row = to + r * stride;
    if (r < rows) {
      ask_row(row, source.data + (row0 + r) * source.stride, source.width, source.quads);
    }
    clear_row(row, r < rows ? source.width : 0, padded(source.width));
  }
}

// One tile of one network.
struct Tile {
  int64_t row0;
  int rows;
  bool is_first;  // of the block
};

// Where a thread is in a table of quads that many threads share: a division each at the start.
struct Walk {
  int row;
  int quad;
  int quads;
  int row_step;
  int quad_step;
};
CK_DEVICE Walk walk_of(int index, int threads, int quads) {
  return Walk{index / quads, index % quads, quads, threads / quads, threads % quads};
}
CK_DEVICE void advance(const Walk& walk, int* row, int* quad) {
  *row += walk.row_step;
  *quad += walk.quad_step;
  if (*quad >= walk.quads) {
    *quad -= walk.quads;
    ++*row;
  }
}

// Asks for a quad of x: columns of one source, or of the seam of several.
CK_DEVICE void ask_input(float* to, const Network& n, int64_t row, bool real, int column) {
  if (!real) {
    put_quad(to, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    return;
  }
  int first = 0;
  CK_UNROLL
  for (int s = 0; s < kSources; ++s) {
    const Source& source = n.sources[s];
    const int in_source = column - first;
    first += source.width;
    if (source.width == 0 || in_source >= source.width || in_source <= -4) continue;
    const float* const from = source.data + row * source.stride;
    if (source.quads && in_source >= 0 && in_source + 4 <= source.width) {
      ck::copy_async_16(to, from + in_source);
      return;
    }
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      const int i = in_source + j;
      if (i >= 0 && i < source.width) ck::copy_async_4(to + j, from + i);
    }
  }
  CK_UNROLL
  for (int j = 0; j < 4; ++j) {
    if (column + j >= n.inputs) to[j] = 0.0f;
  }
}

// Asks for what piece `piece` of every chain of the first layer reads: each warp for its rows of x,
// the block for rows of w1.
CK_DEVICE void ask_piece(const Network& n, const Layout& at, float* shared, const Tile& tile,
                         const Pieces& pieces, int piece) {
  const int thread = threadIdx.x;
  const int own = thread / ck::kWarp * kWarpRows;
  const int x_stride = row_floats(n.inputs);
  const int w_stride = row_floats(n.hidden);
  const Walk of_x = walk_of(thread % ck::kWarp, ck::kWarp, pieces.size / 4);
  const Walk of_w = walk_of(thread, kThreads, quads_of(n.hidden));
  CK_NO_UNROLL
  for (int chain = 0; chain < pieces.chains; ++chain) {
    const int start = chain * pieces.terms;
    const int first = start + piece * pieces.size;
    const int end = min(min(first + pieces.size, start + pieces.terms), padded(n.inputs));
    if (own < tile.rows) {
      int row = of_x.row;
      int quad = of_x.quad;
      CK_NO_UNROLL
      while (row < kWarpRows) {
        const int column = first + quad * 4;
        if (column < end) {
          ask_input(shared + at.x + (own + row) * x_stride + column, n, tile.row0 + own + row,
                    own + row < tile.rows, column);
        }
        advance(of_x, &row, &quad);
      }
    }
    if (!tile.is_first) continue;
    int row = of_w.row;
    int quad = of_w.quad;
    CK_NO_UNROLL
    while (first + row < end) {
      const int k = first + row;
      const int column = quad * 4;
      float* const to = shared + at.w1 + k * w_stride + column;
      const float* const from = n.w1 + k * n.hidden + column;
      if (k < n.inputs && n.w1_quads) {
        ck::copy_async_16(to, from);
      } else {
        CK_UNROLL
        for (int j = 0; j < 4; ++j) {
          if (k < n.inputs && column + j < n.hidden) {
            ck::copy_async_4(to + j, from + j);
          } else {
            to[j] = 0.0f;
          }
        }
      }
      advance(of_w, &row, &quad);
    }
  }
}

// Waits for a piece of the first layer; the last layer's weights are one arrival more.
struct InPieces {
  static constexpr bool kInPieces = true;
  Pieces pieces;
};
CK_DEVICE void wait_for(int under_way) {
  if (CK_MUTANT(mlp_skips_arrival)) return;
  if (under_way == 4) ck::copy_async_wait<4>();
  if (under_way == 3) ck::copy_async_wait<3>();
  if (under_way == 2) ck::copy_async_wait<2>();
  if (under_way == 1) ck::copy_async_wait<1>();
}
CK_DEVICE void arrive_at(const InPieces& in, int piece) {
  wait_for(in.pieces.count - piece);
  if (!CK_MUTANT(mlp_skips_arrival_barrier)) __syncthreads();
}

// dz2 is dy where the last layer has no activation.
CK_DEVICE bool passes_through(const Network& n) {
  return n.mode == kBackward && n.activation2 == MLP_NONE;
}

// What the warp makes of z1: u, its derivative where gradients are asked for, and the action's row.
CK_DEVICE void activate_hidden(const Network& n, const Layout& at, float* shared,
                               const Tile& tile) {
  const int lane = threadIdx.x % ck::kWarp;
  const int own = static_cast<int>(threadIdx.x) / ck::kWarp * kWarpRows;
  const int stride = row_floats(n.hidden);
  const int quads = quads_of(n.hidden);
  const Walk walk = walk_of(lane, ck::kWarp, quads);
  int in_warp = walk.row;
  int quad = walk.quad;
  CK_NO_UNROLL
  for (; in_warp < kWarpRows; advance(walk, &in_warp, &quad)) {
    const int row = own + in_warp;
    const int column = quad * 4;
    float4 z = quad_at(shared + at.u + row * stride + column);
    if (n.actions != nullptr && row < tile.rows) {
      const int action =
          reinterpret_cast<const int*>(shared + at.rows_of)[2 * n.action_count + row];
      if (action >= 0) {
        const float4 w = quad_at(
            shared + at.w1 +
            ((CK_MUTANT(mlp_action_row_unpadded) ? n.inputs : padded(n.inputs)) + action) * stride +
            column);
        z = make_float4(__fadd_rn(z.x, w.x), __fadd_rn(z.y, w.y), __fadd_rn(z.z, w.z),
                        __fadd_rn(z.w, w.w));
      }
    }
    // What is past the last hidden unit is a term of the next product: it is zero.
    const int count = n.hidden - column;
    put_quad(shared + at.u + row * stride + column,
             first_of(activated(n.activation1, n.slope1, z), count));
    if (n.mode != kForward) {
      put_quad(shared + at.dz1 + row * stride + column,
               first_of(derivative(n.activation1, n.slope1, z), count));
    }
  }
}

// Up to four elements of a row in global memory; zeros past its end.
CK_DEVICE float4 read_quad(const float* p, int count, bool quads) {
  if (quads && count >= 4) return quad_at(p);
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (count > 0) v.x = p[0];
  if (count > 1) v.y = p[1];
  if (count > 2) v.z = p[2];
  if (count > 3) v.w = p[3];
  return v;
}
CK_DEVICE void write_quad(float* p, const float4& v, int count, bool quads) {
  if (quads && count >= 4) {
    put_quad(p, v);
    return;
  }
  if (count > 0) p[0] = v.x;
  if (count > 1) p[1] = v.y;
  if (count > 2) p[2] = v.z;
  if (count > 3) p[3] = v.w;
}

// What the warp makes of z2, which lies where dz2 will: y, or dz2 and the squares of what is off.
CK_DEVICE void activate_output(const Network& n, const Layout& at, float* shared,
                               const Tile& tile) {
  const int lane = threadIdx.x % ck::kWarp;
  const int own = static_cast<int>(threadIdx.x) / ck::kWarp * kWarpRows;
  const int stride = row_floats(n.outputs);
  const int quads = quads_of(n.outputs);
  const Walk walk = walk_of(lane, ck::kWarp, quads);
  int in_warp = walk.row;
  int quad = walk.quad;
  CK_NO_UNROLL
  for (; in_warp < kWarpRows; advance(walk, &in_warp, &quad)) {
    const int row = own + in_warp;
    const int column = quad * 4;
    const int count = n.outputs - column;
    float* const z_at = shared + at.dz2 + row * stride + column;
    if (row >= tile.rows) {
      if (n.mode != kForward) put_quad(z_at, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
      continue;
    }
    float4 z = quad_at(z_at);
    if (n.mode == kForward) {
      float4 y = activated(n.activation2, n.slope2, z);
      if (n.residual) {
        const float4 x = quad_at(shared + at.x + row * row_floats(n.inputs) + column);
        y = make_float4(__fadd_rn(y.x, x.x), __fadd_rn(y.y, x.y), __fadd_rn(y.z, x.z),
                        __fadd_rn(y.w, x.w));
      }
      write_quad(n.y + (tile.row0 + row) * n.y_stride + column, y, count, n.y_quads);
      continue;
    }
    const float4 given = read_quad(n.upstream.data + (tile.row0 + row) * n.upstream.stride + column,
                                   count, n.upstream.quads);
    float4 d = given;
    if (n.mode == kCuriosity) {
      const float4 y = activated(n.activation2, n.slope2, z);
      d = make_float4(__fsub_rn(y.x, given.x), __fsub_rn(y.y, given.y), __fsub_rn(y.z, given.z),
                      __fsub_rn(y.w, given.w));
      d = first_of(d, count);
      shared[at.squares + row * row_floats(quads) + column / 4] = dot_quad(0.0f, d, d);
      d = each_of(d, [&](float x) { return __fmul_rn(x, n.scale); });
    }
    const float4 s = derivative(n.activation2, n.slope2, z);
    d = make_float4(gated(d.x, s.x), gated(d.y, s.y), gated(d.z, s.z), gated(d.w, s.w));
    put_quad(z_at, first_of(d, count));
  }
}

// A lane a row: its reward.
CK_DEVICE void reward_rows(const Network& n, const Layout& at, float* shared, const Tile& tile) {
  const int lane = threadIdx.x % ck::kWarp;
  const int row = static_cast<int>(threadIdx.x) / ck::kWarp * kWarpRows + lane;
  if (lane >= kWarpRows || row >= tile.rows) return;
  const int quads = quads_of(n.outputs);
  const float* const squares = shared + at.squares + row * row_floats(quads);
  float sum = 0.0f;
  for (int q = 0; q < quads; ++q) sum = __fadd_rn(sum, squares[q]);
  const float reward = __fmul_rn(0.5f, sum);
  shared[at.rewards + row] = reward;
  if (n.reward != nullptr) n.reward[tile.row0 + row] = reward;
}

// The block: the sums over the tile's rows.
template <bool kWide>
CK_DEVICE void add_tile(const Network& n, const Layout& at, float* shared, const Tile& tile,
                        int block) {
  const Columns columns = columns_of(n.inputs + n.action_count, n.hidden, n.outputs);
  float* const partial =
      n.partials + (CK_MUTANT(mlp_counts_blocks_of_group) ? static_cast<int>(blockIdx.x) : block) *
                       columns.count;
  const Outer first = {shared + at.x,   row_floats(n.inputs), n.inputs,
                       shared + at.dz1, row_floats(n.hidden), n.hidden,
                       partial};
  const Outer second = {shared + at.u,       row_floats(n.hidden),  n.hidden,
                        shared + at.dz2,     row_floats(n.outputs), n.outputs,
                        partial + columns.w2};
  const int thread = threadIdx.x;
  if (kWide) {
    const int turns = outer_turns(first.left_count, first.right_count);
    const int all = turns + outer_turns(second.left_count, second.right_count);
    CK_NO_UNROLL
    for (int turn = thread / ck::kWarp; turn < all; turn += kWarps) {
      add_outer(chosen(turn < turns, first, second), turn < turns ? turn : turn - turns,
                CK_MUTANT(mlp_sums_rows_past_the_last) ? n.tile : tile.rows, tile.is_first);
    }
    // Biases: the last threads first, whose warps have the fewest turns.
    CK_NO_UNROLL
    for (int c = kThreads - 1 - thread; c < n.hidden + n.outputs; c += kThreads) {
      const bool of_hidden = c < n.hidden;
      const int column = of_hidden ? c : c - n.hidden;
      const Outer o = chosen(of_hidden, first, second);
      float* const to = partial + (of_hidden ? columns.b1 : columns.b2) + column;
      float sum = tile.is_first ? 0.0f : *to;
      CK_UNROLL_BY(8)
      for (int r = 0; r < tile.rows; ++r) {
        sum = __fadd_rn(sum, o.right[r * o.right_stride + column]);
      }
      *to = sum;
    }
  } else {
    const int turns = (first.left_count + 1) * quads_of(first.right_count);
    const int all = turns + (second.left_count + 1) * quads_of(second.right_count);
    CK_NO_UNROLL
    for (int turn = thread; turn < all; turn += kThreads) {
      const bool is_first = turn < turns;
      add_outer_quad(chosen(is_first, first, second),
                     partial + (is_first ? columns.b1 : columns.b2), is_first ? turn : turn - turns,
                     tile.rows, tile.is_first);
    }
  }
  if (n.actions != nullptr) {
    const uint32_t* const rows_of = reinterpret_cast<const uint32_t*>(shared + at.rows_of);
    const int64_t start = static_cast<int64_t>(n.inputs) * padded(n.hidden);
    for (int i = thread; i < n.action_count * n.hidden; i += kThreads) {
      const int action = i / n.hidden;
      const int column = i % n.hidden;
      float* const to = partial + start + action * padded(n.hidden) + column;
      float sum = tile.is_first ? 0.0f : *to;
      CK_UNROLL
      for (int half = 0; half < 2; ++half) {
        uint32_t left = rows_of[2 * action + half];
        while (left != 0) {
          const int row = half * 32 + __ffs(static_cast<int>(left)) - 1;
          left &= left - 1;
          sum = __fadd_rn(sum, shared[at.dz1 + row * row_floats(n.hidden) + column]);
        }
      }
      *to = sum;
    }
  }
  if (n.mode == kCuriosity && thread == 0) {
    float sum = tile.is_first ? 0.0f : partial[columns.loss];
    for (int r = 0; r < tile.rows; ++r) sum = __fadd_rn(sum, shared[at.rewards + r]);
    partial[columns.loss] = sum;
  }
}

// The block: which rows of the tile have which action, and each row's own.
CK_DEVICE void find_actions(const Network& n, const Layout& at, float* shared, const Tile& tile) {
  uint32_t* const rows_of = reinterpret_cast<uint32_t*>(shared + at.rows_of);
  int* const own = reinterpret_cast<int*>(rows_of) + 2 * n.action_count;
  const int thread = threadIdx.x;
  if (thread < n.tile) {
    own[thread] = thread < tile.rows ? action_of(n, tile.row0 + thread) : -1;
  }
  if (!CK_MUTANT(mlp_skips_actions_barrier)) __syncthreads();
  for (int word = thread; word < 2 * n.action_count; word += kThreads) {
    uint32_t bits = 0;
    for (int r = 0; r < 32; ++r) {
      const int row = word % 2 * 32 + r;
      if (row < tile.rows && own[row] == word / 2) bits |= 1u << r;
    }
    rows_of[word] = bits;
  }
}

template <bool kWide>
CK_DEVICE void run_tile(const Network& n, const Layout& at, float* shared, const Tile& tile,
                        const InPieces& arrive) {
  const int own = static_cast<int>(threadIdx.x) / ck::kWarp * kWarpRows;
  const int x_stride = row_floats(n.inputs);
  const int u_stride = row_floats(n.hidden);
  const int y_stride = row_floats(n.outputs);
  float* const u = shared + at.u + own * u_stride;
  float* const dz1 = shared + at.dz1 + own * u_stride;
  float* const dz2 = shared + at.dz2 + own * y_stride;
  const float* const w1 = shared + at.w1;
  const float* const w2 = shared + at.w2;
  const bool has_rows = own < tile.rows;
  const Product to_hidden = {shared + at.x + (has_rows ? own : 0) * x_stride,
                             x_stride,
                             w1,
                             u_stride,
                             shared + at.b1,
                             n.inputs,
                             n.hidden,
                             !has_rows};
  multiply<kWide, true>(to_hidden, arrive, [&](int row, int c, const float4& z) {
    put_quad(u + row * u_stride + c, z);
  });
  if (!CK_MUTANT(mlp_skips_rest_arrival)) ck::copy_async_wait<0>();
  if (!CK_MUTANT(mlp_skips_rest_barrier)) __syncthreads();
  if (has_rows) {
    activate_hidden(n, at, shared, tile);
    if (!CK_MUTANT(mlp_skips_activated_sync)) __syncwarp();
    if (!passes_through(n)) {
      const Product to_output = {u,        u_stride,  w2,   y_stride, shared + at.b2,
                                 n.hidden, n.outputs, false};
      multiply<kWide, true>(to_output, Arrived{}, [&](int row, int c, const float4& z) {
        put_quad(dz2 + row * y_stride + c, z);
      });
      if (!CK_MUTANT(mlp_skips_output_sync)) __syncwarp();
      activate_output(n, at, shared, tile);
      if (!CK_MUTANT(mlp_skips_dz2_sync)) __syncwarp();
      if (n.mode == kCuriosity) reward_rows(n, at, shared, tile);
    }
    const bool goes_back = n.mode != kForward && (n.partials != nullptr || n.dx != nullptr);
    if (goes_back) {
      const Product back = {dz2, y_stride, w2, y_stride, nullptr, n.outputs, n.hidden, false};
      multiply<kWide, false>(back, Arrived{}, [&](int row, int c, float value) {
        float* const to = dz1 + row * u_stride + c;
        *to = gated(value, *to);
      });
    }
    if (goes_back && n.dx != nullptr) {
      if (!CK_MUTANT(mlp_skips_dz1_sync)) __syncwarp();
      const Product to_input = {dz1, u_stride, w1, u_stride, nullptr, n.hidden, n.inputs, false};
      multiply<kWide, false>(to_input, Arrived{}, [&](int row, int c, float value) {
        if (own + row >= tile.rows) return;
        const int64_t r = tile.row0 + own + row;
        if (n.residual) value = __fadd_rn(value, n.upstream.data[r * n.upstream.stride + c]);
        n.dx[r * n.dx_stride + c] = value;
      });
    }
  }
}

template <bool kWide, int kMost>
CK_KERNEL_BLOCKS(kThreads, 1)
run_fused(const __grid_constant__ Group<kMost> group) {
  CK_DYNAMIC_SHARED(float, shared);
  int which = 0;
  if (kMost > 1) {
    while (static_cast<int>(blockIdx.x) >= group.first[which + 1]) ++which;
  }
  const Network& n = group.networks[which];
  const int block = static_cast<int>(blockIdx.x) - group.first[which];
  const int blocks = group.first[which + 1] - group.first[which];
  const Layout at = layout_of(n);
  const bool back = n.mode != kForward;
  const int own = static_cast<int>(threadIdx.x) / ck::kWarp * kWarpRows;
  const int64_t first = static_cast<int64_t>(block) * (back ? n.rows : n.tile);
  const int64_t end = back ? min(first + n.rows, static_cast<int64_t>(n.batch)) : n.batch;
  const int64_t step = back ? n.tile : static_cast<int64_t>(blocks) * n.tile;
  ck::dependency_wait();
  for (int64_t row0 = first; row0 < end; row0 += step) {
    const Tile tile = {row0, static_cast<int>(min(static_cast<int64_t>(n.tile), end - row0)),
                       row0 == first || CK_MUTANT(mlp_forgets_earlier_tiles)};
    const InPieces arrive = {pieces_of(n.inputs, n.hidden)};
    CK_NO_UNROLL
    for (int i = 0; i < arrive.pieces.count; ++i) {
      ask_piece(n, at, shared, tile, arrive.pieces, i);
      if (i == 0 && tile.is_first) {
        ask_bias(shared + at.b1, n.b1, n.hidden);
        ask_bias(shared + at.b2, n.b2, n.outputs);
      }
      ck::copy_async_commit();
    }
    if (tile.is_first) {
      ask_matrix(shared + at.w2, n.w2, n.hidden, padded(n.hidden), n.outputs, n.w2_quads);
      ask_matrix(shared + at.w1 + padded(n.inputs) * row_floats(n.hidden),
                 n.w1 + static_cast<int64_t>(n.inputs) * n.hidden, n.action_count, n.action_count,
                 n.hidden, n.w1_quads);
    }
    if (passes_through(n) && own < tile.rows) {
      ask_rows(shared + at.dz2, row_floats(n.outputs), n.upstream, tile.row0, tile.rows);
    }
    ck::copy_async_commit();
    if (n.actions != nullptr) find_actions(n, at, shared, tile);
    run_tile<kWide>(n, at, shared, tile, arrive);
    if (n.mode != kForward && n.partials != nullptr) {
      if (!CK_MUTANT(mlp_skips_rows_barrier)) __syncthreads();
      add_tile<kWide>(n, at, shared, tile, block);
    }
    // The tile has been read before the next one arrives.
    if (row0 + step < end && !CK_MUTANT(mlp_skips_reuse_barrier)) __syncthreads();
  }
}

}  // namespace mlp
