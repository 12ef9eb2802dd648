// One AdamW step (decoupled decay, bias correction) over a flat range; the gradient is cleared on the way.
struct Range {
  vectors: u32, // of 4 floats in this range
  decayVectors: u32, // the first ones decay
  groupsPerRow: u32, // workgroups along x
}

struct Hyper {
  learningRate: f32,
  gradientScale: f32,
  beta1: f32,
  beta2: f32,
  oneMinusBeta1: f32, // computed in float64 by the host
  oneMinusBeta2: f32,
  correction1: f32, // 1 / (1 - beta1^t)
  correction2: f32, // 1 / (1 - beta2^t)
  epsilon: f32,
  decay: f32, // learningRate * weightDecay
}

@group(0) @binding(0) var<storage, read_write> parameters: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> gradients: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> firstMoments: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> secondMoments: array<vec4f>;
@group(0) @binding(4) var<uniform> hyper: Hyper;
@group(0) @binding(5) var<uniform> range: Range;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let i = (workgroup.y * range.groupsPerRow + workgroup.x) * 64u + lane;
  if (i >= range.vectors) {
    return;
  }
  let gradient = gradients[i] * hyper.gradientScale;
  let first = hyper.beta1 * firstMoments[i] + hyper.oneMinusBeta1 * gradient;
  let second = hyper.beta2 * secondMoments[i] + hyper.oneMinusBeta2 * gradient * gradient;
  let kept = select(1.0, 1.0 - hyper.decay, i < range.decayVectors);
  let update = first * hyper.correction1 / (sqrt(second * hyper.correction2) + hyper.epsilon);
  firstMoments[i] = first;
  secondMoments[i] = second;
  parameters[i] = parameters[i] * kept - hyper.learningRate * update;
  gradients[i] = vec4f();
}
