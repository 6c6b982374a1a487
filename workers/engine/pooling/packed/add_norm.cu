// A sum of two bfloat16 rows and its layer norm, read and written once; a block is one row.

__device__ inline float block_sum(float value) {
  __shared__ float of_warp[32];
  for (int apart = 16; apart; apart >>= 1) value += __shfl_xor_sync(0xffffffffu, value, apart);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (int warp = 0; warp < blockDim.x / 32; ++warp) value += of_warp[warp];
  __syncthreads();  // the next sum writes there
  return value;
}

__device__ inline void unpack(const uint4& piece, float* values) {
  const unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
  for (int each = 0; each < 4; ++each) {
    values[2 * each] = __uint_as_float(words[each] << 16);
    values[2 * each + 1] = __uint_as_float(words[each] & 0xffff0000u);
  }
}

__device__ inline unsigned rounded(float value) {
  const unsigned bits = __float_as_uint(value);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;  // to the nearest, a tie to the even one
}

__device__ inline uint4 pack(const float* values) {
  unsigned words[4];
  for (int each = 0; each < 4; ++each)
    words[each] = rounded(values[2 * each]) | rounded(values[2 * each + 1]) << 16;
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Unrolled, or the numbers would not stay in registers.
#define EACH_PIECE                                                        \
  _Pragma("unroll") for (int turn = 0; turn < 4; ++turn)                  \
    if (const int at = threadIdx.x + turn * blockDim.x; at < pieces)

// Rows are `pieces` times eight numbers, and no more than four pieces a thread.
extern "C" __global__ void add_norm(const uint4* x, const uint4* residual, const uint4* weight,
                                    const uint4* bias, double epsilon, uint4* out, int pieces) {
  const size_t row = (size_t)blockIdx.x * pieces;
  float values[4][8];
  float sum = 0.0f;
  EACH_PIECE {
    float other[8];
    unpack(x[row + at], values[turn]);
    unpack(residual[row + at], other);
    for (int each = 0; each < 8; ++each) sum += values[turn][each] += other[each];
  }
  const float mean = block_sum(sum) / (8 * pieces);
  float squares = 0.0f;
  EACH_PIECE {
    for (int each = 0; each < 8; ++each) {
      values[turn][each] -= mean;
      squares += values[turn][each] * values[turn][each];
    }
  }
  const float factor = rsqrtf(block_sum(squares) / (8 * pieces) + (float)epsilon);
  EACH_PIECE {
    float by[8], plus[8];
    unpack(weight[at], by);
    unpack(bias[at], plus);
    for (int each = 0; each < 8; ++each)
      values[turn][each] = values[turn][each] * factor * by[each] + plus[each];
    out[row + at] = pack(values[turn]);
  }
}
