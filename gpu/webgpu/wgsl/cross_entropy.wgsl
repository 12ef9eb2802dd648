// Loss of each row, and the logits replaced by their gradient (softmax - one hot) * gradientScale, so that no second
// (rows, vocabulary) buffer exists. With writeGradient 0 the logits stay.
struct Shape {
  rows: u32,
  vectors: u32, // of 4 logits per row
  gradientScale: f32,
  writeGradient: u32,
}

@group(0) @binding(0) var<storage, read> targets: array<u32>; // (rows)
@group(0) @binding(1) var<storage, read_write> logits: array<vec4f>; // (rows, vocabulary)
@group(0) @binding(2) var<storage, read_write> losses: array<f32>; // (rows), nats
@group(0) @binding(3) var<uniform> shape: Shape;

@compute @workgroup_size(ROW_GROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) invocation: u32) {
  let row = rowOf(workgroup.x, invocation);
  let lane = laneOf(invocation);
  let clamped = min(row, shape.rows - 1u);
  let base = clamped * shape.vectors;
  let answer = targets[clamped];
  // Read before any lane overwrites it; the reductions below are the barrier.
  let answerLogit = logits[base + (answer >> 2u)][answer & 3u];

  var largest = vec4f(-3.4e38);
  for (var i = lane; i < shape.vectors; i += ROW_LANES) {
    largest = max(largest, logits[base + i]);
  }
  let peak = maxOverRow(max(max(largest.x, largest.y), max(largest.z, largest.w)), lane);
  var sums = vec4f();
  for (var i = lane; i < shape.vectors; i += ROW_LANES) {
    sums += exp(logits[base + i] - peak);
  }
  let total = sumOverRow(sums.x + sums.y + sums.z + sums.w, lane);
  if (row >= shape.rows) {
    return;
  }
  if (lane == 0u) {
    losses[row] = log(total) + (peak - answerLogit);
  }
  if (shape.writeGradient == 0u) {
    return;
  }
  let scale = shape.gradientScale / total;
  for (var i = lane; i < shape.vectors; i += ROW_LANES) {
    let first = 4u * i;
    let hit = vec4u(first, first + 1u, first + 2u, first + 3u) == vec4u(answer);
    logits[base + i] = exp(logits[base + i] - peak) * scale - select(vec4f(), vec4f(shape.gradientScale), hit);
  }
}
