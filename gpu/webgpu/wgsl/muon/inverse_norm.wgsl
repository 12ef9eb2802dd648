// inverse[0] = 1 / (sqrt(trace) + epsilon) of a square matrix, by one workgroup: each lane adds every 64th value of the
// diagonal, and the first lane adds the lanes' sums in order.
struct Shape {
  side: u32,
  epsilon: f32,
}

@group(0) @binding(0) var<storage, read> matrix: array<f32>; // (side, side)
@group(0) @binding(1) var<storage, read_write> inverse: array<f32>; // (1)
@group(0) @binding(2) var<uniform> shape: Shape;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  var sum = 0.0;
  for (var i = lane; i < shape.side; i += 64u) {
    sum += matrix[i * (shape.side + 1u)];
  }
  sums[lane] = sum;
  workgroupBarrier();
  if (lane == 0u) {
    var trace = 0.0;
    for (var i = 0u; i < 64u; i++) {
      trace += sums[i];
    }
    inverse[0] = 1.0 / (sqrt(trace) + shape.epsilon);
  }
}
