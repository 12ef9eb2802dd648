// square = a I + b matrix + c square: one Newton-Schulz round's factor, from a Gram matrix and its square.
struct Shape {
  vectors: u32, // of 4 floats in a row
  a: f32,
  b: f32,
  c: f32,
}

@group(0) @binding(0) var<storage, read> matrix: array<vec4f>; // (side, side)
@group(0) @binding(1) var<storage, read_write> square: array<vec4f>; // (side, side)
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  if (column >= shape.vectors) {
    return;
  }
  let at = workgroup.y * shape.vectors + column;
  let isDiagonal = vec4u(0u, 1u, 2u, 3u) + vec4u(4u * column) == vec4u(workgroup.y);
  square[at] = select(vec4f(), vec4f(shape.a), isDiagonal) + shape.b * matrix[at] + shape.c * square[at];
}
