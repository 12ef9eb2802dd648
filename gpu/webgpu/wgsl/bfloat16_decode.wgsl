// Bfloat16 to float32: each half of a word, the lower one first, becomes the upper half of a float32. On bit patterns.
struct Shape {
  vectors: u32, // of 4 values
  groupsPerRow: u32,
}

@group(0) @binding(0) var<storage, read> words: array<vec2u>;
@group(0) @binding(1) var<storage, read_write> values: array<vec4u>; // float32 patterns
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let at = (workgroup.y * shape.groupsPerRow + workgroup.x) * 64u + lane;
  if (at >= shape.vectors) {
    return;
  }
  let pairs = words[at].xxyy;
  values[at] = vec4u(pairs.x << 16u, pairs.y & 0xffff0000u, pairs.z << 16u, pairs.w & 0xffff0000u);
}
