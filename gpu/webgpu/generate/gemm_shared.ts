/**
 * Matrix products with tiles of a and b in workgroup memory; gemm.ts has the rules.
 *
 * A tile has a line of vectors of four rows or columns for each k. A lane's `rows` are neighbours; its `columnVectors`
 * lie a tile's lanes apart, so that neighbouring lanes access neighbouring vectors. Past the end of K tiles hold zeros;
 * rows and columns past the edge read the last one and are not stored.
 *
 * A line's index is a constant, so the driver checks the other index only once. A spare vector per line keeps values
 * that are stored one by one out of one memory bank. On an H200, prefetching the next tile into registers is slower
 * (tests/lab/LOG.md).
 */

import { type GemmKind, gemmTile, linePadding, type SharedGemm as Shared } from "./gemm_settings.ts";
import { header, skipUpper, store } from "./gemm_text.ts";
import { each, range } from "./unrolled.ts";

export function sharedSource(kind: GemmKind, settings: Shared): string {
  const { lanesX, lanesY, depth, rows, columnVectors } = settings;
  const tile = gemmTile(settings);
  const sums = sumsOf(settings);
  const a: Side = { name: "a", tile: "tileA", edge: "row", outputs: tile.rows, ...alongOf(kind, "a") };
  const b: Side = { name: "b", tile: "tileB", edge: "column", outputs: tile.columns, ...alongOf(kind, "b") };
  const loads = [a, b].map((side) => loadsOf(side, settings));
  const all = (text: (load: Load) => string) => loads.flat().map(text).join("\n");
  return `${header(kind)}
var<workgroup> tileA: array<array<vec4f, ${lineVectors(a)}>, ${depth}>;
var<workgroup> tileB: array<array<vec4f, ${lineVectors(b)}>, ${depth}>;

@compute @workgroup_size(${lanesX}, ${lanesY})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let firstRow = workgroup.y * ${tile.rows}u;
  let firstColumn = workgroup.x * ${tile.columns}u;
${skipUpper("firstColumn", `firstRow + ${tile.rows}u`)}
${each(rows, (i) => each(columnVectors, (j) => sums.declare(`s${i}_${j}`)))}
${all((load) => load.place)}
  for (var k0 = 0u; k0 < shape.depthVectors; k0 += ${depth / 4}u) {
${all((load) => load.bring)}
    workgroupBarrier();
${each(depth, (k) => step(k, settings))}
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
${store(kind, sums.vector(`s${i}_${j}`))}
}`)
      }
}`)
  }
}
`;
}

function step(k: number, settings: Shared): string {
  const { rows, columnVectors, lanesX } = settings;
  const sums = sumsOf(settings);
  return `{
${each(rows / 4, (i) => `let x${i} = tileA[${k}][lane.y * ${rows / 4}u + ${i}u];`)}
${each(columnVectors, (j) => `let w${j} = tileB[${k}][lane.x + ${j * lanesX}u];`)}
${each(rows, (i) => each(columnVectors, (j) => sums.add(`s${i}_${j}`, `x${i >> 2}[${i & 3}]`, `w${j}`)))}
}`;
}

/** By how a lane holds four neighbouring outputs. */
interface Sums {
  declare(name: string): string;
  add(name: string, scalar: string, vector: string): string;
  vector(name: string): string;
}

const sumsOf = ({ sums = "vectors" }: Shared): Sums =>
  sums === "vectors"
    ? {
      declare: (name) => `var ${name} = vec4f();`,
      add: (name, scalar, vector) => `${name} = fma(vec4f(${scalar}), ${vector}, ${name});`,
      vector: (name) => name,
    }
    : {
      declare: (name) => each(4, (c) => `var ${name}_${c} = 0.0;`),
      add: (name, scalar, vector) => each(4, (c) => `${name}_${c} = fma(${scalar}, ${vector}[${c}], ${name}_${c});`),
      vector: (name) => `vec4f(${range(4).map((c) => `${name}_${c}`).join(", ")})`,
    };

interface Side {
  readonly name: "a" | "b";
  readonly tile: "tileA" | "tileB";
  readonly edge: "row" | "column"; // the output's edge along the tile's lines
  readonly outputs: number; // rows or columns per tile
  readonly isAlong: boolean; // the source's vectors run along K
  readonly stride: string; // vectors between stored rows
}

function alongOf(kind: GemmKind, name: "a" | "b"): Pick<Side, "isAlong" | "stride"> {
  if (name === "a") return { isAlong: kind !== "weightGradient", stride: "shape.aVectors" };
  const isAlong = kind === "forward";
  return { isAlong, stride: isAlong ? "shape.depthVectors" : "shape.columnVectors" };
}

const lineVectors = (side: Side): number => side.outputs / 4 + linePadding;

/** One vector that an invocation brings into a tile. */
interface Load {
  readonly place: string; // before the loop over K
  readonly bring: string; // from memory to the tile
}

function loadsOf(side: Side, { lanesX, lanesY, depth }: Shared): Load[] {
  const lanes = lanesX * lanesY;
  const vectors = side.outputs * depth / 4;
  return range(Math.ceil(vectors / lanes)).map((i) => {
    const id = `${side.name}${i}`;
    const { place, bring } = side.isAlong ? loadAlong(side, { id, depth }) : loadAcross(side, id);
    const isWhole = (i + 1) * lanes <= vectors;
    return {
      place: `let e${id} = invocation + ${i * lanes}u;\n${place}`,
      bring: isWhole ? bring : `if (e${id} < ${vectors}u) {\n${bring}\n}`,
    };
  });
}

/** Vectors run along K: four values go to consecutive k. */
function loadAlong({ edge, name, stride, tile }: Side, { id, depth }: { id: string; depth: number }): Load {
  const first = edge === "row" ? "firstRow" : "firstColumn";
  return {
    place: `let k${id} = e${id} % ${depth / 4}u;
let line${id} = e${id} / ${depth / 4}u;
let start${id} = min(${first} + line${id}, shape.${edge}s - 1u) * ${stride};`,
    bring: `{
let k = k0 + k${id};
let value = select(vec4f(), ${name}[start${id} + min(k, shape.depthVectors - 1u)], k < shape.depthVectors);
${each(4, (i) => `${tile}[k${id} * 4u + ${i}u][line${id} >> 2u][line${id} & 3u] = value[${i}];`)}
}`,
  };
}

/** Vectors run across: each is a vector of the tile. */
function loadAcross({ edge, name, stride, tile, outputs }: Side, id: string): Load {
  const first = edge === "row" ? "firstRow" : "firstColumn";
  return {
    place: `let k${id} = e${id} / ${outputs / 4}u;
let line${id} = e${id} % ${outputs / 4}u;
let start${id} = min((${first} >> 2u) + line${id}, shape.${edge}Vectors - 1u);`,
    bring: `{
let k = k0 * 4u + k${id};
let depth = shape.depthVectors * 4u;
${tile}[k${id}][line${id}] = select(vec4f(), ${name}[min(k, depth - 1u) * ${stride} + start${id}], k < depth);
}`,
  };
}
