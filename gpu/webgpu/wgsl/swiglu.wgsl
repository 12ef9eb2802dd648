// activated = silu(gate) * up, where a row of gateUp holds gate, then up.
struct Shape {
  vectors: u32, // of 4 floats in a row of activated
}

@group(0) @binding(0) var<storage, read> gateUp: array<vec4f>; // (rows, 2 F)
@group(0) @binding(1) var<storage, read_write> activated: array<vec4f>; // (rows, F)
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup.x * 32u + lane;
  if (column >= shape.vectors) {
    return;
  }
  let base = workgroup.y * shape.vectors;
  let gate = gateUp[2u * base + column];
  let up = gateUp[2u * base + shape.vectors + column];
  activated[base + column] = gate / (1.0 + exp(-gate)) * up;
}
