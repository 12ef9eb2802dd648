// The scale bytes of rows of codes, four rows in a word: core/codec/row_scale.ts on bit patterns.
struct Shape {
  rows: u32,
  width: u32,
  groupsPerRow: u32,
}

@group(0) @binding(0) var<storage, read> values: array<u32>; // float32 patterns (rows, width)
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@group(0) @binding(2) var<uniform> shape: Shape;

const lanesOfRow = 16u;
const one = 161; // the byte that stands for 1

var<workgroup> largest: array<atomic<u32>, 4>;

fn scaleByte(pattern: u32) -> u32 {
  if (pattern >= 0x7f800000u) {
    return 255u;
  }
  let mantissa = pattern & 0x7fffffu;
  let quarter = u32(mantissa > 0u) + u32(mantissa > 0x1837f0u) + u32(mantissa > 0x3504f3u) + u32(mantissa > 0x5744fdu);
  let byte = 4 * (i32(pattern >> 23u) - 127) + i32(quarter) + one;
  return u32(select(min(byte, 254), 0, byte < 1));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let word = workgroup.y * shape.groupsPerRow + workgroup.x;
  let slot = lane / lanesOfRow;
  let row = 4u * word + slot;
  var magnitude = 0u;
  if (row < shape.rows) {
    for (var column = lane % lanesOfRow; column < shape.width; column += lanesOfRow) {
      magnitude = max(magnitude, values[row * shape.width + column] & 0x7fffffffu);
    }
  }
  atomicMax(&largest[slot], magnitude);
  workgroupBarrier();
  if (lane == 0u && 4u * word < shape.rows) {
    var scales = 0u;
    for (var i = 0u; i < 4u; i++) {
      scales |= scaleByte(atomicLoad(&largest[i])) << (8u * i);
    }
    words[word] = scales;
  }
}
