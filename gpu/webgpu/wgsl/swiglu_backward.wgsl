// Gradients of silu(gate) * up towards gate and up.
struct Shape {
  vectors: u32, // of 4 floats in a row of activatedGradient
}

@group(0) @binding(0) var<storage, read> gateUp: array<vec4f>; // (rows, 2 F)
@group(0) @binding(1) var<storage, read> activatedGradient: array<vec4f>; // (rows, F)
@group(0) @binding(2) var<storage, read_write> gateUpGradient: array<vec4f>; // (rows, 2 F)
@group(0) @binding(3) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  if (column >= shape.vectors) {
    return;
  }
  let base = workgroup.y * shape.vectors;
  let gate = gateUp[2u * base + column];
  let up = gateUp[2u * base + shape.vectors + column];
  let gradient = activatedGradient[base + column];
  let sigmoid = 1.0 / (1.0 + exp(-gate));
  gateUpGradient[2u * base + column] = gradient * up * sigmoid * (1.0 + gate * (1.0 - sigmoid));
  gateUpGradient[2u * base + shape.vectors + column] = gradient * gate * sigmoid;
}
