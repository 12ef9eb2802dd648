// gainGradient += sum over chunks of partial, in ascending order. First stage: gain_partial.wgsl.
struct Shape {
  chunks: u32,
  vectors: u32, // of 4 floats
}

@group(0) @binding(0) var<storage, read> partial: array<vec4f>; // (chunks, width)
@group(0) @binding(1) var<storage, read_write> gainGradient: array<vec4f>; // (width)
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.vectors) {
    return;
  }
  var sum = vec4f();
  for (var chunk = 0u; chunk < shape.chunks; chunk++) {
    sum += partial[chunk * shape.vectors + id.x];
  }
  gainGradient[id.x] += sum;
}
