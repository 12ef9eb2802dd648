// One invocation owns one row: what a software adapter likes, whose barriers are costly. Partner of row_per_workgroup.wgsl.
const ROW_GROUP = 8u;
const ROW_LANES = 1u;

fn rowOf(workgroup: u32, invocation: u32) -> u32 {
  return workgroup * ROW_GROUP + invocation;
}

fn laneOf(invocation: u32) -> u32 {
  return 0u;
}

fn sumOverRow(value: f32, lane: u32) -> f32 {
  return value;
}

fn maxOverRow(value: f32, lane: u32) -> f32 {
  return value;
}
