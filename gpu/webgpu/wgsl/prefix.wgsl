// The bottleneck's short cut: the wire is the first columns of the residual stream. Adds a narrow or wide source to the
// first columns of a target, or overwrites the target with the source padded by zeros.
struct Shape {
  columns: u32, // vectors of 4 floats that are copied, per row
  sourceVectors: u32, // per row
  targetVectors: u32, // per row
  pad: u32, // 1: target = source, then zeros; 0: target += source
}

@group(0) @binding(0) var<storage, read> source: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4f>;
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  let at = workgroup.y * shape.targetVectors + column;
  let value = source[workgroup.y * shape.sourceVectors + min(column, shape.columns - 1u)];
  if (shape.pad != 0u && column < shape.targetVectors) {
    destination[at] = select(vec4f(), value, column < shape.columns);
  }
  if (shape.pad == 0u && column < shape.columns) {
    destination[at] += value;
  }
}
