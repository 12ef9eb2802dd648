// Float32 to bfloat16, two values in a word, the first in its lower half: to nearest, ties to even, and a NaN is made quiet.
// All on bit patterns, as core/codec/bfloat16.ts does it: a float operation may flush a subnormal or change a NaN.
struct Shape {
  vectors: u32, // of 4 values
  groupsPerRow: u32,
}

@group(0) @binding(0) var<storage, read> values: array<vec4u>; // float32 patterns
@group(0) @binding(1) var<storage, read_write> words: array<vec2u>;
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let at = (workgroup.y * shape.groupsPerRow + workgroup.x) * 64u + lane;
  if (at >= shape.vectors) {
    return;
  }
  let bits = values[at];
  let upper = bits >> vec4u(16u);
  let rounded = (bits + vec4u(0x7fffu) + (upper & vec4u(1u))) >> vec4u(16u);
  let isNan = (bits & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
  let halves = select(rounded, upper | vec4u(0x40u), isNan);
  words[at] = halves.xz | (halves.yw << vec2u(16u));
}
