// Rotary positions, in place on the q and k columns of qkv, Hugging Face's rotate-half convention: channel i of a head
// pairs with channel i + headWidth / 2. `direction` is 1 forward and -1 on gradients (the transpose of a rotation).
struct Shape {
  length: u32, // T
  rowVectors: u32, // of 4 floats in a row of qkv
  halfVectors: u32, // of 4 floats in half a head
  pairs: u32, // (heads + kvHeads) * halfVectors
  direction: f32,
}

@group(0) @binding(0) var<storage, read> table: array<vec4f>; // (2, T, headWidth / 2): cosines, then sines
@group(0) @binding(1) var<storage, read_write> qkv: array<vec4f>; // (B * T, (heads + 2 kvHeads) * headWidth)
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let pair = workgroup.x * 32u + lane;
  if (pair >= shape.pairs) {
    return;
  }
  let head = pair / shape.halfVectors;
  let channel = pair - head * shape.halfVectors;
  let angle = (workgroup.y % shape.length) * shape.halfVectors + channel;
  let cosine = table[angle];
  let sine = table[shape.length * shape.halfVectors + angle] * shape.direction;
  let low = workgroup.y * shape.rowVectors + pair + head * shape.halfVectors;
  let high = low + shape.halfVectors;
  let x = qkv[low];
  let y = qkv[high];
  qkv[low] = fma(x, cosine, -y * sine);
  qkv[high] = fma(y, cosine, x * sine);
}
