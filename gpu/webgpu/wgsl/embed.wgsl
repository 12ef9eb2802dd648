// output[row] = embedding[tokens[row] - firstId], for ids that this part of the table has.
struct Shape {
  vectors: u32, // of 4 floats per row
  firstId: u32,
  ids: u32,
}

@group(0) @binding(0) var<storage, read> tokens: array<u32>; // (rows)
@group(0) @binding(1) var<storage, read> embedding: array<vec4f>; // (ids, width)
@group(0) @binding(2) var<storage, read_write> output: array<vec4f>; // (rows, width)
@group(0) @binding(3) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  if (column >= shape.vectors) {
    return;
  }
  let id = tokens[workgroup.y] - shape.firstId; // wraps to a large number if it is below
  if (id >= shape.ids) {
    return;
  }
  output[workgroup.y * shape.vectors + column] = embedding[id * shape.vectors + column];
}
