// bfloat16 numbers to FP8 (E4M3): a thread reads eight of them at once and writes eight bytes.

__device__ inline void unpack(const uint4& piece, float* values) {
  const unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
  for (int each = 0; each < 4; ++each) {
    values[2 * each] = __uint_as_float(words[each] << 16);
    values[2 * each + 1] = __uint_as_float(words[each] & 0xffff0000u);
  }
}

// Two numbers, rounded to the nearest; what is too large becomes the largest.
__device__ inline unsigned pair(float low, float high) {
  unsigned short both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
  return both;
}

__device__ inline uint2 rounded(const float* values, float factor) {
  uint2 found;
  found.x = pair(values[0] * factor, values[1] * factor) |
            pair(values[2] * factor, values[3] * factor) << 16;
  found.y = pair(values[4] * factor, values[5] * factor) |
            pair(values[6] * factor, values[7] * factor) << 16;
  return found;
}

// What comes before a product, where its class asks for it: GELU by the error function.
__device__ inline void activate(float* values, int is_gelu) {
  if (!is_gelu) return;
  for (int each = 0; each < 8; ++each)
    values[each] *= 0.5f * (1.0f + erff(values[each] * 0.70710678118654752f));
}

// One scale for all.
extern "C" __global__ void by_tensor(const uint4* x, const float* scale, uint2* out, int pieces,
                                     int is_gelu) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= pieces) return;
  float values[8];
  unpack(x[at], values);
  activate(values, is_gelu);
  out[at] = rounded(values, 1.0f / *scale);
}

// A scale for each token, whose numbers are `pieces` times eight; a block is one token.
extern "C" __global__ void by_token(const uint4* x, float* scales, uint2* out, int pieces,
                                    int is_gelu) {
  __shared__ float largest_of_warp[32];
  const uint4* row = x + (size_t)blockIdx.x * pieces;
  float largest = 0.0f;
  for (int at = threadIdx.x; at < pieces; at += blockDim.x) {
    float values[8];
    unpack(row[at], values);
    activate(values, is_gelu);
    for (int each = 0; each < 8; ++each) largest = fmaxf(largest, fabsf(values[each]));
  }
  for (int apart = 16; apart; apart >>= 1)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, apart));
  if (threadIdx.x % 32 == 0) largest_of_warp[threadIdx.x / 32] = largest;
  __syncthreads();
  for (int warp = 0; warp < blockDim.x / 32; ++warp)
    largest = fmaxf(largest, largest_of_warp[warp]);
  const float scale = fmaxf(largest / 448.0f, 1.0f / (448.0f * 512.0f));
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  for (int at = threadIdx.x; at < pieces; at += blockDim.x) {
    float values[8];
    unpack(row[at], values);
    activate(values, is_gelu);
    out[(size_t)blockIdx.x * pieces + at] = rounded(values, 1.0f / scale);
  }
}
