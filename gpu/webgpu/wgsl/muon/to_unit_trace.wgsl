// Multiplies a square matrix by the square of inverse[0], which makes its trace one: the second half of inverse_norm.wgsl.
struct Range {
  vectors: u32, // of 4 floats
  groupsPerRow: u32, // workgroups along x
}

@group(0) @binding(0) var<storage, read_write> matrix: array<vec4f>;
@group(0) @binding(1) var<storage, read> inverse: array<f32>; // (1)
@group(0) @binding(2) var<uniform> range: Range;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let i = (workgroup.y * range.groupsPerRow + workgroup.x) * 64u + lane;
  if (i < range.vectors) {
    matrix[i] *= inverse[0] * inverse[0];
  }
}
