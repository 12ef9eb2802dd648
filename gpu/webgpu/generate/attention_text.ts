/** What the texts of all attention kernels have in common. */

export const attentionShape = `struct Shape {
  length: u32, // T
  heads: u32,
  kvHeads: u32,
  group: u32, // query heads per key/value head
  groupReciprocal: u32, // ceil(2^16 / group): (head * this) >> 16 is head / group, and Mesa sees that it is uniform
  scale: f32, // 1 / sqrt(headWidth)
}
`;

export const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** A line for each vector of a head. */
export const each = (vectors: number, line: (i: number) => string) => range(vectors).map(line).join("\n");

/** Sum of products over a head: four independent chains, then one fixed addition order. */
export function dot(name: string, vectors: number, pair: (i: number) => readonly [string, string]): string {
  const chain = range(vectors).reduce((sum, i) => `fma(${pair(i)[0]}, ${pair(i)[1]}, ${sum})`, "vec4f()");
  return `let ${name}4 = ${chain};
let ${name} = (${name}4.x + ${name}4.y) + (${name}4.z + ${name}4.w);`;
}

/** What all kernels know about their place; `head` counts query heads. Strides are in vectors of four floats. */
export const strides = (vectors: number) =>
  `  let qkvStride = (shape.heads + 2u * shape.kvHeads) * ${vectors}u;
  let outStride = shape.heads * ${vectors}u;
  let keys = shape.heads * ${vectors}u;
  let values = (shape.heads + shape.kvHeads) * ${vectors}u;
  let sequence = workgroup.z * shape.length;`;

export const entry = (lanes: number) =>
  `@compute @workgroup_size(${lanes})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {`;
