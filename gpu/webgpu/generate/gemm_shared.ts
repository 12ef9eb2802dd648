/**
 * Matrix products with tiles of a and b in workgroup memory: see gemm.ts, whose rules hold here.
 *
 * Both tiles are lines of vectors of four rows or columns, one line for each k. A lane computes `rows` neighbouring rows of
 * `columnVectors` vectors, which lie a tile's lanes apart, so that neighbouring lanes read and store neighbouring vectors. Past
 * the end of K both tiles hold zeros, and fma(0, 0, s) is s; rows and columns past the edge read the last one's values and
 * are not stored.
 *
 * Tiles are arrays of lines: a line's index is a constant, so that the driver checks the other index, the same for every k,
 * once. A line has a vector more than it needs: values that are stored one by one would fall into one memory bank.
 *
 * Measured on an H200 (tests/lab/LOG.md): values of the next tile held in registers while lanes compute make it slower.
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

/** One k: every row's value times every vector of columns. */
function step(k: number, settings: Shared): string {
  const { rows, columnVectors, lanesX } = settings;
  const sums = sumsOf(settings);
  return `{
${each(rows / 4, (i) => `let x${i} = tileA[${k}][lane.y * ${rows / 4}u + ${i}u];`)}
${each(columnVectors, (j) => `let w${j} = tileB[${k}][lane.x + ${j * lanesX}u];`)}
${each(rows, (i) => each(columnVectors, (j) => sums.add(`s${i}_${j}`, `x${i >> 2}[${i & 3}]`, `w${j}`)))}
}`;
}

/** The texts that differ with how a lane holds four neighbouring outputs. */
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

/** One operand, and how it lies in memory. */
interface Side {
  readonly name: "a" | "b";
  readonly tile: "tileA" | "tileB";
  readonly edge: "row" | "column"; // of the output that its tile's lines run along
  readonly outputs: number; // rows or columns of a tile
  readonly isAlong: boolean; // vectors of the source run along K
  readonly stride: string; // vectors between two stored rows
}

function alongOf(kind: GemmKind, name: "a" | "b"): Pick<Side, "isAlong" | "stride"> {
  if (name === "a") return { isAlong: kind !== "weightGradient", stride: "shape.aVectors" };
  const isAlong = kind === "forward";
  return { isAlong, stride: isAlong ? "shape.depthVectors" : "shape.columnVectors" };
}

const lineVectors = (side: Side): number => side.outputs / 4 + linePadding;

/** The texts of one vector that an invocation brings into a tile. */
interface Load {
  readonly place: string; // before the loop over K: where it is
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

/** Vectors of the source run along K: its four values go to four consecutive k of one row or column of the tile. */
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

/** Vectors of the source run along rows or columns: each is a vector of the tile. */
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
