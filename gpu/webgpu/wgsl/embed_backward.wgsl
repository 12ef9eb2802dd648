// embeddingGradient[id - firstId] += sum of the gradients at the positions of id, ascending. The CPU sorts the positions by id
// (gpu/token_index.ts), which makes the sum deterministic without float atomics.
struct Shape {
  vectors: u32, // of 4 floats per row
  rows: u32, // capacity of the index
  firstId: u32, // of the part of the table at hand
  ids: u32,
}

@group(0) @binding(0) var<storage, read> index: array<u32>; // count, ids (rows), starts (rows + 1), positions (rows)
@group(0) @binding(1) var<storage, read> outputGradient: array<vec4f>; // (rows, width)
@group(0) @binding(2) var<storage, read_write> embeddingGradient: array<vec4f>; // (ids, width)
@group(0) @binding(3) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  if (workgroup.y >= index[0] || column >= shape.vectors) {
    return;
  }
  let id = index[1u + workgroup.y] - shape.firstId; // wraps to a large number if it is below
  if (id >= shape.ids) {
    return;
  }
  let starts = 1u + shape.rows;
  let positions = starts + shape.rows + 1u;
  var sum = vec4f();
  for (var i = index[starts + workgroup.y]; i < index[starts + workgroup.y + 1u]; i++) {
    sum += outputGradient[index[positions + i] * shape.vectors + column];
  }
  embeddingGradient[id * shape.vectors + column] += sum;
}
