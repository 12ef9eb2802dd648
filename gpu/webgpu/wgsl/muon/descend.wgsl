// Muon's step over one matrix: decoupled decay, then the change, of the length that the norm of the direction leaves.
struct Range {
  vectors: u32, // of 4 floats
  groupsPerRow: u32, // workgroups along x
  scale: f32,
}

@group(0) @binding(0) var<storage, read_write> parameters: array<vec4f>;
@group(0) @binding(1) var<storage, read> change: array<vec4f>;
@group(0) @binding(2) var<storage, read> inverse: array<f32>; // (1): see inverse_norm.wgsl
@group(0) @binding(3) var<storage, read> numbers: vec4f; // stepNumbers of gpu/optimizers/orthogonal_ops.ts
@group(0) @binding(4) var<uniform> range: Range;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let i = (workgroup.y * range.groupsPerRow + workgroup.x) * 64u + lane;
  if (i >= range.vectors) {
    return;
  }
  let length = numbers.y * range.scale * inverse[0];
  parameters[i] = parameters[i] * (1.0 - numbers.z) - length * change[i];
}
