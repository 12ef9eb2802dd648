// Copies the lower half of a square matrix onto the upper one, in blocks of 4 x 4: a lane each.
struct Shape {
  vectors: u32, // of 4 floats in a row, and blocks along a side
}

@group(0) @binding(0) var<storage, read_write> matrix: array<vec4f>; // (side, side)
@group(0) @binding(1) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup.y;
  let column = workgroup.x * 32u + lane;
  if (column > row) {
    return;
  }
  let low = 4u * row * shape.vectors + column;
  let a = matrix[low];
  let b = matrix[low + shape.vectors];
  let c = matrix[low + 2u * shape.vectors];
  let d = matrix[low + 3u * shape.vectors];
  let isDiagonal = column == row; // only its own lower half is to be kept
  let high = 4u * column * shape.vectors + row;
  matrix[high] = vec4f(a.x, b.x, c.x, d.x);
  matrix[high + shape.vectors] = select(vec4f(a.y, b.y, c.y, d.y), vec4f(b.x, b.y, c.y, d.y), isDiagonal);
  matrix[high + 2u * shape.vectors] = select(vec4f(a.z, b.z, c.z, d.z), vec4f(c.x, c.y, c.z, d.z), isDiagonal);
  matrix[high + 3u * shape.vectors] = select(vec4f(a.w, b.w, c.w, d.w), d, isDiagonal);
}
