// Attention of rows that each continue a text: a workgroup is one row's head. Each lane takes every 16th position and keeps
// a running maximum, sum and mean of values (online softmax, arXiv 1805.02867); the lanes' parts are joined at the end.
// The text before this file defines headVectors, vectors of 4 floats in a head.
const lanes = 16u;

struct Shape {
  heads: u32,
  kvHeads: u32,
  streams: u32,
  length: u32, // positions of a stream
  scale: f32, // 1 / sqrt(headWidth)
}

@group(0) @binding(0) var<storage, read> places: array<vec2u>; // (rows): stream, position
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>; // (rows, (heads + 2 kvHeads) * headWidth)
@group(0) @binding(2) var<storage, read> keys: array<vec4f>; // (streams, kvHeads, length, headWidth)
@group(0) @binding(3) var<storage, read> values: array<vec4f>; // (streams, kvHeads, length, headWidth)
@group(0) @binding(4) var<storage, read_write> output: array<vec4f>; // (rows, heads * headWidth)
@group(0) @binding(5) var<uniform> shape: Shape;

var<workgroup> largest: array<f32, lanes>;
var<workgroup> sums: array<f32, lanes>;
var<workgroup> means: array<vec4f, lanes * headVectors>;

@compute @workgroup_size(lanes)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let head = workgroup.x;
  let row = workgroup.y;
  let place = places[row];
  let count = select(0u, place.y + 1u, place.x < shape.streams);
  let query = (row * (shape.heads + 2u * shape.kvHeads) + head) * headVectors;
  let kvHead = head / (shape.heads / shape.kvHeads);
  let cached = (min(place.x, shape.streams - 1u) * shape.kvHeads + kvHead) * shape.length * headVectors;
  var most = -3.4e38;
  var sum = 0.0;
  var mean: array<vec4f, headVectors>;
  for (var at = lane; at < count; at += lanes) {
    let place = cached + at * headVectors;
    var product = vec4f();
    for (var i = 0u; i < headVectors; i++) {
      product = fma(qkv[query + i], keys[place + i], product);
    }
    let score = (product.x + product.y + product.z + product.w) * shape.scale;
    let next = max(most, score);
    let kept = exp(most - next);
    let share = exp(score - next);
    sum = sum * kept + share;
    for (var i = 0u; i < headVectors; i++) {
      mean[i] = fma(vec4f(share), values[place + i], mean[i] * kept);
    }
    most = next;
  }
  largest[lane] = most;
  sums[lane] = sum;
  for (var i = 0u; i < headVectors; i++) {
    means[lane * headVectors + i] = mean[i];
  }
  workgroupBarrier();
  var whole = -3.4e38;
  for (var other = 0u; other < lanes; other++) {
    whole = max(whole, largest[other]);
  }
  var total = 0.0;
  for (var other = 0u; other < lanes; other++) {
    total += sums[other] * exp(largest[other] - whole);
  }
  for (var i = lane; i < headVectors; i += lanes) {
    var mixed = vec4f();
    for (var other = 0u; other < lanes; other++) {
      mixed = fma(vec4f(exp(largest[other] - whole)), means[other * headVectors + i], mixed);
    }
    output[(row * shape.heads + head) * headVectors + i] = select(vec4f(), mixed / total, count > 0u);
  }
}
