// Muon's momentum and the direction of its step, over one matrix; the gradient is cleared on the way. `numbers`: see
// stepNumbers of gpu/optimizers/orthogonal_ops.ts.
struct Range {
  vectors: u32, // of 4 floats
  groupsPerRow: u32, // workgroups along x
  decay: f32, // of the momentum
}

@group(0) @binding(0) var<storage, read_write> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> momentum: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> direction: array<vec4f>;
@group(0) @binding(3) var<storage, read> numbers: vec4f;
@group(0) @binding(4) var<uniform> range: Range;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let i = (workgroup.y * range.groupsPerRow + workgroup.x) * 64u + lane;
  if (i >= range.vectors) {
    return;
  }
  let scaled = gradient[i] * numbers.x;
  let next = range.decay * momentum[i] + scaled;
  momentum[i] = next;
  direction[i] = scaled + range.decay * next;
  gradient[i] = vec4f();
}
