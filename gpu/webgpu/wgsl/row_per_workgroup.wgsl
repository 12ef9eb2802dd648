// One workgroup owns one row, so that neighbouring lanes read neighbouring addresses: what a real GPU likes.
// The reduction tree is fixed, so results do not depend on scheduling.
const ROW_GROUP = 64u;
const ROW_LANES = 64u;

var<workgroup> rowScratch: array<f32, 64>;

fn rowOf(workgroup: u32, invocation: u32) -> u32 {
  return workgroup;
}

fn laneOf(invocation: u32) -> u32 {
  return invocation;
}

fn sumOverRow(value: f32, lane: u32) -> f32 {
  rowScratch[lane] = value;
  workgroupBarrier();
  for (var half = 32u; half > 0u; half >>= 1u) {
    if (lane < half) {
      rowScratch[lane] += rowScratch[lane + half];
    }
    workgroupBarrier();
  }
  let total = rowScratch[0];
  workgroupBarrier();
  return total;
}

fn maxOverRow(value: f32, lane: u32) -> f32 {
  rowScratch[lane] = value;
  workgroupBarrier();
  for (var half = 32u; half > 0u; half >>= 1u) {
    if (lane < half) {
      rowScratch[lane] = max(rowScratch[lane], rowScratch[lane + half]);
    }
    workgroupBarrier();
  }
  let largest = rowScratch[0];
  workgroupBarrier();
  return largest;
}
