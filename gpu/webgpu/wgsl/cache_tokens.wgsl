// The tokens of rows join their streams' caches: q is rotated in place to the row's position (as in rope.wgsl), k is rotated
// and stored, v is stored. Lanes hold two vectors of a head, channel and channel + headWidth / 2.
struct Shape {
  heads: u32,
  kvHeads: u32,
  halfVectors: u32, // of 4 floats in half a head
  streams: u32,
  length: u32, // positions of a stream
}

@group(0) @binding(0) var<storage, read> table: array<vec4f>; // (2, length, headWidth / 2): cosines, then sines
@group(0) @binding(1) var<storage, read> places: array<vec2u>; // (rows): stream, position
@group(0) @binding(2) var<storage, read_write> qkv: array<vec4f>; // (rows, (heads + 2 kvHeads) * headWidth)
@group(0) @binding(3) var<storage, read_write> keys: array<vec4f>; // (streams, kvHeads, length, headWidth)
@group(0) @binding(4) var<storage, read_write> values: array<vec4f>; // (streams, kvHeads, length, headWidth)
@group(0) @binding(5) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let all = shape.heads + 2u * shape.kvHeads;
  let pair = workgroup.x * 32u + lane;
  let place = places[workgroup.y];
  if (pair >= all * shape.halfVectors || place.x >= shape.streams) {
    return;
  }
  let half = shape.halfVectors;
  let head = pair / half;
  let channel = pair - head * half;
  let low = (workgroup.y * all + head) * 2u * half + channel;
  let x = qkv[low];
  let y = qkv[low + half];
  let kvHead = (head - shape.heads) % shape.kvHeads;
  let cached = ((place.x * shape.kvHeads + kvHead) * shape.length + place.y) * 2u * half + channel;
  if (head >= shape.heads + shape.kvHeads) {
    values[cached] = x;
    values[cached + half] = y;
    return;
  }
  let angle = place.y * half + channel;
  let cosine = table[angle];
  let sine = table[shape.length * half + angle];
  let turnedX = fma(x, cosine, -y * sine);
  let turnedY = fma(y, cosine, x * sine);
  if (head >= shape.heads) {
    keys[cached] = turnedX;
    keys[cached + half] = turnedY;
  } else {
    qkv[low] = turnedX;
    qkv[low + half] = turnedY;
  }
}
