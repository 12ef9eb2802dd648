// Codes of few bits to values: core/codec/scaled_codes.ts.
struct Shape {
  count: u32, // of values
  width: u32, // of a row
  bits: u32, // of a code
  stochastic: u32, // 1: value = code times step; 0: value = (2 code + 1) times step
  scaleWords: u32, // before the codes
  groupsPerRow: u32,
  infinity: f32, // the values of a row that is not finite
  unused: u32,
  steps: vec4u, // of the scales 2^(0/4) to 2^(3/4): float32 patterns
}

@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> values: array<f32>;
@group(0) @binding(2) var<uniform> shape: Shape;

fn step(scale: u32) -> f32 {
  if (scale == 0u) {
    return 0.0;
  }
  let above = i32(scale) - 161;
  let octaves = above >> 2u;
  return bitcast<f32>(u32(i32(shape.steps[above & 3]) + (octaves << 23u)));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let place = (workgroup.y * shape.groupsPerRow + workgroup.x) * 64u + lane;
  if (place >= shape.count) {
    return;
  }
  let row = place / shape.width;
  let scale = (words[row / 4u] >> (8u * (row % 4u))) & 0xffu;
  let bit = place * shape.bits;
  let word = shape.scaleWords + bit / 32u;
  let shift = bit % 32u;
  var stream = words[word] >> shift;
  if (shift + shape.bits > 32u) {
    stream |= words[word + 1u] << (32u - shift);
  }
  let code = i32(stream & ((1u << shape.bits) - 1u)) - i32(1u << (shape.bits - 1u));
  let value = f32(select(2 * code + 1, code, shape.stochastic != 0u)) * step(scale);
  values[place] = select(value, shape.infinity, scale == 255u);
}
