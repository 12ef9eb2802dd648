// normalized = input * inverseRms * gain, row by row; inverseRms is kept for the backward pass.
struct Shape {
  rows: u32,
  vectors: u32, // of 4 floats per row
  inverseWidth: f32,
  epsilon: f32,
}

@group(0) @binding(0) var<storage, read> input: array<vec4f>; // (rows, width)
@group(0) @binding(1) var<storage, read> gain: array<vec4f>; // (width)
@group(0) @binding(2) var<storage, read_write> normalized: array<vec4f>; // (rows, width)
@group(0) @binding(3) var<storage, read_write> inverseRms: array<f32>; // (rows)
@group(0) @binding(4) var<uniform> shape: Shape;

@compute @workgroup_size(ROW_GROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) invocation: u32) {
  let row = rowOf(workgroup.x, invocation);
  let lane = laneOf(invocation);
  let base = min(row, shape.rows - 1u) * shape.vectors;
  var squares = vec4f();
  for (var i = lane; i < shape.vectors; i += ROW_LANES) {
    let x = input[base + i];
    squares = fma(x, x, squares);
  }
  let total = sumOverRow(squares.x + squares.y + squares.z + squares.w, lane);
  let scale = inverseSqrt(fma(total, shape.inverseWidth, shape.epsilon));
  if (row >= shape.rows) {
    return;
  }
  if (lane == 0u) {
    inverseRms[row] = scale;
  }
  for (var i = lane; i < shape.vectors; i += ROW_LANES) {
    normalized[base + i] = input[base + i] * scale * gain[i];
  }
}
