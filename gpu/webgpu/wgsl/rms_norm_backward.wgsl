// inputGradient (+)= inverseRms * (g - input * mean(g * input) * inverseRms^2), with g = outputGradient * gain.
struct Shape {
  rows: u32,
  vectors: u32, // of 4 floats per row
  inverseWidth: f32,
  accumulate: u32, // 0: overwrite inputGradient, 1: add to it (the residual branch is already there)
}

@group(0) @binding(0) var<storage, read> input: array<vec4f>; // (rows, width)
@group(0) @binding(1) var<storage, read> gain: array<vec4f>; // (width)
@group(0) @binding(2) var<storage, read> inverseRms: array<f32>; // (rows)
@group(0) @binding(3) var<storage, read> outputGradient: array<vec4f>; // (rows, width)
@group(0) @binding(4) var<storage, read_write> inputGradient: array<vec4f>; // (rows, width)
@group(0) @binding(5) var<uniform> shape: Shape;

@compute @workgroup_size(ROW_GROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) invocation: u32) {
  let row = rowOf(workgroup.x, invocation);
  let lane = laneOf(invocation);
  let clamped = min(row, shape.rows - 1u);
  let base = clamped * shape.vectors;
  var products = vec4f();
  for (var i = lane; i < shape.vectors; i += ROW_LANES) {
    products = fma(outputGradient[base + i] * gain[i], input[base + i], products);
  }
  let total = sumOverRow(products.x + products.y + products.z + products.w, lane);
  let scale = inverseRms[clamped];
  let along = total * scale * scale * shape.inverseWidth;
  if (row >= shape.rows) {
    return;
  }
  for (var i = lane; i < shape.vectors; i += ROW_LANES) {
    let gradient = scale * (outputGradient[base + i] * gain[i] - input[base + i] * along);
    if (shape.accumulate != 0u) {
      inputGradient[base + i] += gradient;
    } else {
      inputGradient[base + i] = gradient;
    }
  }
}
