// partial[i] = sum of squares of every STRIPES-th vector, starting at i. The host adds the partial sums in float64, in
// order, so the result does not depend on scheduling.
const STRIPES = 4096u;

struct Range {
  vectors: u32, // of 4 floats
}

@group(0) @binding(0) var<storage, read> values: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> partial: array<f32>; // (STRIPES)
@group(0) @binding(2) var<uniform> range: Range;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  var squares = vec4f();
  for (var i = id.x; i < range.vectors; i += STRIPES) {
    squares = fma(values[i], values[i], squares);
  }
  partial[id.x] = squares.x + squares.y + squares.z + squares.w;
}
