/**
 * Matrix products with tiles of a and b in workgroup memory: see gemm.ts, whose rules hold here.
 *
 * Both tiles are vectors of four rows or columns, one line for each k. A lane computes `rows` neighbouring rows of
 * `columnVectors` vectors, which lie a tile's lanes apart, so that neighbouring lanes read and store neighbouring vectors. Past
 * the end of K both tiles hold zeros, and fma(0, 0, s) is s.
 */

import { type GemmKind, gemmTile, type SharedGemm as Shared } from "./gemm_settings.ts";
import { each, header, range, skipUpper, store } from "./gemm_text.ts";

export function sharedSource(kind: GemmKind, settings: Shared): string {
  const { lanesX, lanesY, depth, rows, columnVectors } = settings;
  const tile = gemmTile(settings);
  const lines = { a: tile.rows / 4, b: tile.columns / 4 }; // vectors of a tile for each k
  return `${header(kind)}
var<workgroup> tileA: array<vec4f, ${depth * lines.a}>;
var<workgroup> tileB: array<vec4f, ${depth * lines.b}>;

@compute @workgroup_size(${lanesX}, ${lanesY})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let firstRow = workgroup.y * ${tile.rows}u;
  let firstColumn = workgroup.x * ${tile.columns}u;
${skipUpper("firstColumn", `firstRow + ${tile.rows}u`)}
${each(rows, (i) => each(columnVectors, (j) => `var s${i}_${j} = vec4f();`))}
  for (var k0 = 0u; k0 < shape.depthVectors; k0 += ${depth / 4}u) {
    for (var e = invocation; e < ${tile.rows * depth / 4}u; e += ${lanesX * lanesY}u) {
${kind === "weightGradient" ? loadAcross("A", "row", lines.a) : loadAlong("A", "row", { line: lines.a, depth })}
    }
    for (var e = invocation; e < ${tile.columns * depth / 4}u; e += ${lanesX * lanesY}u) {
${kind === "forward" ? loadAlong("B", "column", { line: lines.b, depth }) : loadAcross("B", "column", lines.b)}
    }
    workgroupBarrier();
${each(depth, (k) => step(k, settings, lines))}
    workgroupBarrier();
  }
  let row = firstRow + lane.y * ${rows}u;
  let column = (firstColumn >> 2u) + lane.x; // in vectors
${
    each(rows, (i) =>
      `if (row + ${i}u < shape.rows) {
${
        each(columnVectors, (j) =>
          `if (column + ${j * lanesX}u < shape.columnVectors) {
let at = (row + ${i}u) * shape.cVectors + column + ${j * lanesX}u;
${store(kind, `s${i}_${j}`)}
}`)
      }
}`)
  }
}
`;
}

/** One k: every row's value times every vector of columns. */
function step(k: number, { rows, columnVectors, lanesX }: Shared, lines: { a: number; b: number }): string {
  const sum = (i: number, j: number) => `s${i}_${j} = fma(vec4f(x${i >> 2}[${i & 3}]), w${j}, s${i}_${j});`;
  return `{
${each(rows / 4, (i) => `let x${i} = tileA[${k * lines.a}u + lane.y * ${rows / 4}u + ${i}u];`)}
${each(columnVectors, (j) => `let w${j} = tileB[${k * lines.b}u + lane.x + ${j * lanesX}u];`)}
${each(rows, (i) => each(columnVectors, (j) => sum(i, j)))}
}`;
}

type Side = "row" | "column";

/** Vectors of the source run along K: its four values go to four consecutive k of one row or column of the tile. */
function loadAlong(tileName: "A" | "B", side: Side, { line, depth }: { line: number; depth: number }): string {
  const first = side === "row" ? "firstRow" : "firstColumn";
  const stride = side === "row" ? "aVectors" : "depthVectors";
  return `let line = e / ${depth / 4}u;
let k = e % ${depth / 4}u;
let inside = ${first} + line < shape.${side}s && k0 + k < shape.depthVectors;
let at = min(${first} + line, shape.${side}s - 1u) * shape.${stride} + min(k0 + k, shape.depthVectors - 1u);
let value = select(vec4f(), ${tileName.toLowerCase()}[at], inside);
${
    range(4).map((i) => `tile${tileName}[(k * 4u + ${i}u) * ${line}u + (line >> 2u)][line & 3u] = value[${i}];`).join(
      "\n",
    )
  }`;
}

/** Vectors of the source run along rows or columns: each is a vector of the tile. */
function loadAcross(tileName: "A" | "B", side: Side, line: number): string {
  const first = side === "row" ? "firstRow" : "firstColumn";
  const stride = side === "row" ? "aVectors" : "columnVectors";
  return `let k = e / ${line}u;
let line = e % ${line}u;
let vector = (${first} >> 2u) + line;
let inside = vector < shape.${side}Vectors && k0 * 4u + k < shape.depthVectors * 4u;
let at = min(k0 * 4u + k, shape.depthVectors * 4u - 1u) * shape.${stride} + min(vector, shape.${side}Vectors - 1u);
tile${tileName}[e] = select(vec4f(), ${tileName.toLowerCase()}[at], inside);`;
}
