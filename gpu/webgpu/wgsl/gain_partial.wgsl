// One chunk of rows of the gain's gradient: partial[chunk] = sum over its rows of outputGradient * input * inverseRms.
// Two fixed stages (this and gain_reduce.wgsl) instead of atomics keep the bits the same from run to run.
struct Shape {
  rows: u32,
  vectors: u32, // of 4 floats per row
  chunkRows: u32,
}

@group(0) @binding(0) var<storage, read> input: array<vec4f>; // (rows, width)
@group(0) @binding(1) var<storage, read> inverseRms: array<f32>; // (rows)
@group(0) @binding(2) var<storage, read> outputGradient: array<vec4f>; // (rows, width)
@group(0) @binding(3) var<storage, read_write> partial: array<vec4f>; // (chunks, width)
@group(0) @binding(4) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  if (column >= shape.vectors) {
    return;
  }
  let first = workgroup.y * shape.chunkRows;
  let end = min(first + shape.chunkRows, shape.rows);
  var sum = vec4f();
  for (var row = first; row < end; row++) {
    let at = row * shape.vectors + column;
    sum = fma(outputGradient[at] * inverseRms[row], input[at], sum);
  }
  partial[workgroup.y * shape.vectors + column] = sum;
}
