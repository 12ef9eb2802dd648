// Values to codes of few bits, behind the scales that codes_scales.wgsl wrote: core/codec/scaled_codes.ts. A lane makes one word
// of the stream; a value on the edge of two words is computed for both.
struct Shape {
  count: u32, // of values
  width: u32, // of a row
  bits: u32, // of a code
  stochastic: u32, // 1: rounded up or down at random; 0: to nearest
  scaleWords: u32, // before the codes
  codeWords: u32,
  groupsPerRow: u32,
  unused: u32,
  inverses: vec4u, // of the scales 2^(0/4) to 2^(3/4): float32 patterns of what a magnitude is multiplied with
}

@group(0) @binding(0) var<storage, read> values: array<u32>; // float32 patterns
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@group(0) @binding(2) var<storage, read> key: array<u32>; // one word
@group(0) @binding(3) var<uniform> shape: Shape;

fn draw(place: u32, scale: u32, code: u32) -> u32 {
  var x = (place * 0x9e3779b1u) ^ (((scale << 8u) | code) * 0x85ebca6bu) ^ key[0];
  x = (x ^ (x >> 16u)) * 0x7feb352du;
  x = (x ^ (x >> 15u)) * 0x846ca68bu;
  return (x ^ (x >> 16u)) >> 16u;
}

/** Powers of two only move the exponent, so the product below is the one of core. */
fn inverse(scale: u32) -> f32 {
  let above = i32(scale) - 161;
  let octaves = above >> 2u;
  return bitcast<f32>(u32(i32(shape.inverses[above & 3]) - (octaves << 23u)));
}

fn codeOf(place: u32) -> u32 {
  let row = place / shape.width;
  let scale = (words[row / 4u] >> (8u * (row % 4u))) & 0xffu;
  let pattern = values[place];
  let middle = 1u << (shape.bits - 1u);
  let magnitude = pattern & 0x7fffffffu;
  if (scale == 255u || magnitude < 0x00800000u) {
    return middle;
  }
  var units = 0u;
  if (scale != 0u) {
    units = u32(bitcast<f32>(magnitude) * inverse(scale));
  }
  let isNegative = pattern >= 0x80000000u;
  if (shape.stochastic == 0u) {
    let code = min(units, middle - 1u);
    return select(middle + code, middle - 1u - code, isNegative);
  }
  let below = units >> 16u;
  let isUp = (units & 0xffffu) > draw(place, scale, below);
  let code = min(below + u32(isUp), middle - 1u);
  return select(middle + code, middle - code, isNegative);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let word = (workgroup.y * shape.groupsPerRow + workgroup.x) * 64u + lane;
  if (word >= shape.codeWords) {
    return;
  }
  let firstBit = 32u * word;
  var stream = 0u;
  for (var place = firstBit / shape.bits; place < shape.count; place++) {
    let bit = place * shape.bits;
    if (bit >= firstBit + 32u) {
      break;
    }
    let code = codeOf(place);
    if (bit < firstBit) {
      stream |= code >> (firstBit - bit);
    } else {
      stream |= code << (bit - firstBit);
    }
  }
  words[shape.scaleWords + word] = stream;
}
