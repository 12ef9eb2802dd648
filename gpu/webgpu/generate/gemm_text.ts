/** What all matrix products share. */

import type { GemmKind } from "./gemm_settings.ts";

export function header(kind: GemmKind): string {
  const layout = {
    forward: ["(rows, depth)", "(columns, depth)"],
    inputGradient: ["(rows, depth)", "(depth, columns)"],
    weightGradient: ["(depth, rows)", "(depth, columns)"],
  }[kind];
  const residual = kind === "forward" ? "@group(0) @binding(3) var<storage, read> residual: array<vec4f>;\n" : "";
  return `// ${kind}: c (rows, columns)
struct Shape {
  rows: u32,
  columns: u32,
  rowVectors: u32, // rows / 4, and so on: see the head of gemm.ts
  columnVectors: u32,
  depthVectors: u32,
  adds: u32, // 1: add what is there, the residual or c
  lowerOnly: u32, // 1: tiles beyond the diagonal are left alone
  aVectors: u32, // between two stored rows of a
  cVectors: u32, // of c and of the residual
}
@group(0) @binding(0) var<storage, read> a: array<vec4f>; // ${layout[0]}
@group(0) @binding(1) var<storage, read> b: array<vec4f>; // ${layout[1]}
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
${residual}@group(0) @binding(${kind === "forward" ? 4 : 3}) var<uniform> shape: Shape;
`;
}

/** Four outputs, `sum`, at vector index `at`. */
export function store(kind: GemmKind, sum: string): string {
  const held = kind === "forward" ? "residual" : "c";
  if (kind === "weightGradient") return `c[at] = ${sum} + select(vec4f(), c[at], shape.adds != 0u);`;
  return `if (shape.adds != 0u) { c[at] = ${sum} + ${held}[at]; } else { c[at] = ${sum}; }`;
}

/** Ends a workgroup beyond the diagonal. */
export const skipUpper = (firstColumn: string, endRow: string) =>
  `if (shape.lowerOnly != 0u && ${firstColumn} >= ${endRow}) { return; }`;
