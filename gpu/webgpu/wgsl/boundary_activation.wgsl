// The bottleneck's two activations, element by element: SiLU before the encoder, ReLU after the decoder.
struct Shape {
  vectors: u32, // of 4 floats in a row
  relu: u32, // 1: ReLU, 0: SiLU
}

@group(0) @binding(0) var<storage, read> input: array<vec4f>; // (rows, width)
@group(0) @binding(1) var<storage, read_write> output: array<vec4f>; // (rows, width)
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  if (column >= shape.vectors) {
    return;
  }
  let at = workgroup.y * shape.vectors + column;
  let x = input[at];
  output[at] = select(x / (1.0 + exp(-x)), max(x, vec4f()), shape.relu != 0u);
}
