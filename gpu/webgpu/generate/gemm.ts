/**
 * WGSL text of the three matrix products of a linear layer, unrolled by this generator because naga guards every loop.
 *
 * Rules that make results independent of the chosen tile: each output is one chain of explicit `fma` over ascending K that
 * starts at zero; what is already in the output, or the residual, is added once at the end. No dot(), no split K, no atomics.
 *
 * Sizes come from a uniform, so one pipeline serves every shape: measured on llvmpipe as fast as baked sizes, with 3 shader
 * compilations (0.14 s each) instead of 15. They arrive divided by four: naga's guarded integer division hides from Mesa that
 * an address is the same in all lanes, which made products 6x slower.
 */

/**
 * `forward`: y = x Wᵀ (+ residual); `inputGradient`: dx = dy W; `weightGradient`: dW (+)= dyᵀ x. W is stored (out, in).
 */
export type GemmKind = "forward" | "inputGradient" | "weightGradient";

/**
 * `direct` keeps everything in registers: rows come from the workgroup, so that their loads are uniform, and lanes run
 * across columns (software adapters; barriers cost there). `shared` stages tiles through workgroup memory (real GPUs).
 */
export type GemmSettings =
  | { readonly family: "direct"; readonly lanes: number; readonly rows: number; readonly columnVectors: number }
  | { readonly family: "shared"; readonly lanesX: number; readonly lanesY: number; readonly depth: number };

export const softwareGemm: GemmSettings = { family: "direct", lanes: 8, rows: 8, columnVectors: 2 };
export const hardwareGemm: GemmSettings = { family: "shared", lanesX: 8, lanesY: 8, depth: 16 };

export interface GemmTile {
  readonly rows: number; // outputs per workgroup
  readonly columns: number;
}

export function gemmTile(settings: GemmSettings): GemmTile {
  return settings.family === "direct"
    ? { rows: settings.rows, columns: settings.lanes * settings.columnVectors * 4 }
    : { rows: settings.lanesY * 4, columns: settings.lanesX * 4 };
}

/** Bindings: a, b, c, [residual for `forward`], shape. */
export function gemmSource(kind: GemmKind, settings: GemmSettings): string {
  return settings.family === "direct" ? directSource(kind, settings) : sharedSource(kind, settings);
}

type Direct = Extract<GemmSettings, { family: "direct" }>;
type Shared = Extract<GemmSettings, { family: "shared" }>;

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const each = (count: number, line: (i: number) => string) => range(count).map(line).join("\n");

function header(kind: GemmKind): string {
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

/** Writes one vector of four outputs, `sum`, at vector index `at`. */
function store(kind: GemmKind, sum: string): string {
  const held = kind === "forward" ? "residual" : "c";
  if (kind === "weightGradient") return `c[at] = ${sum} + select(vec4f(), c[at], shape.adds != 0u);`;
  return `if (shape.adds != 0u) { c[at] = ${sum} + ${held}[at]; } else { c[at] = ${sum}; }`;
}

/** Ends a workgroup whose tile lies beyond the diagonal, if it may. */
const skipUpper = (firstColumn: string, endRow: string) =>
  `if (shape.lowerOnly != 0u && ${firstColumn} >= ${endRow}) { return; }`;

function directSource(kind: GemmKind, settings: Direct): string {
  const { lanes, rows, columnVectors } = settings;
  const body =
    { forward: directForward, inputGradient: directInputGradient, weightGradient: directWeightGradient }[kind];
  return `${header(kind)}
@compute @workgroup_size(${lanes})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup.y * ${rows}u;
  let column = (workgroup.x * ${lanes}u + lane) * ${columnVectors}u; // in vectors
${skipUpper(`workgroup.x * ${gemmTile(settings).columns}u`, `row + ${rows}u`)}
${each(rows, (i) => each(columnVectors, (j) => `var s${i}_${j} = vec4f();`))}
${body(settings)}
${
    each(rows, (i) =>
      `if (row + ${i}u < shape.rows) {
${
        each(columnVectors, (j) =>
          `if (column + ${j}u < shape.columnVectors) {
let at = (row + ${i}u) * shape.cVectors + column + ${j}u;
${store(kind, `s${i}_${j}`)}
}`)
      }
}`)
  }
}
`;
}

/** Rows and columns past the edge are clamped to the last one: they read valid data and are not stored. */
const clampedRows = (rows: number) =>
  each(rows, (i) => `let a${i} = min(row + ${i}u, shape.rows - 1u) * shape.aVectors;`);
const clampedColumns = (count: number) =>
  each(count, (j) => `let b${j} = min(column + ${j}u, shape.columnVectors - 1u);`);

function directForward({ rows, columnVectors }: Direct): string {
  const chain = (i: number, j: number) => {
    const sum = `s${i}_${j >> 2}[${j & 3}]`;
    return `${sum} = fma(x${i}.w, w.w, fma(x${i}.z, w.z, fma(x${i}.y, w.y, fma(x${i}.x, w.x, ${sum}))));`;
  };
  return `${clampedRows(rows)}
${each(columnVectors * 4, (j) => `let b${j} = min(column * 4u + ${j}u, shape.columns - 1u) * shape.depthVectors;`)}
for (var k = 0u; k < shape.depthVectors; k++) {
${each(rows, (i) => `let x${i} = a[a${i} + k];`)}
${each(columnVectors * 4, (j) => `{ let w = b[b${j} + k];\n${each(rows, (i) => chain(i, j))} }`)}
}`;
}

function directInputGradient({ rows, columnVectors }: Direct): string {
  const product = (step: number, i: number, j: number) => `s${i}_${j} = fma(vec4f(x${i}[${step}]), w${j}, s${i}_${j});`;
  return `${clampedRows(rows)}
${clampedColumns(columnVectors)}
for (var k = 0u; k < shape.depthVectors; k++) {
${each(rows, (i) => `let x${i} = a[a${i} + k];`)}
${
    each(4, (step) =>
      `{
${each(columnVectors, (j) => `let w${j} = b[(k * 4u + ${step}u) * shape.columnVectors + b${j}];`)}
${each(rows, (i) => each(columnVectors, (j) => product(step, i, j)))}
}`)
  }
}`;
}

function directWeightGradient({ rows, columnVectors }: Direct): string {
  const product = (i: number, j: number) => `s${i}_${j} = fma(vec4f(x${i >> 2}[${i & 3}]), w${j}, s${i}_${j});`;
  return `${each(rows / 4, (i) => `let a${i} = min((row >> 2u) + ${i}u, shape.rowVectors - 1u);`)}
${clampedColumns(columnVectors)}
for (var k = 0u; k < shape.depthVectors; k++) {
${
    each(4, (step) =>
      `{
${each(rows / 4, (i) => `let x${i} = a[(k * 4u + ${step}u) * shape.aVectors + a${i}];`)}
${each(columnVectors, (j) => `let w${j} = b[(k * 4u + ${step}u) * shape.columnVectors + b${j}];`)}
${each(rows, (i) => each(columnVectors, (j) => product(i, j)))}
}`)
  }
}`;
}

/**
 * Tiles of a and b lie in workgroup memory as [k][row] and [k][column]; each invocation computes 4 x 4 outputs.
 * Past the end of K both tiles hold zeros, and fma(0, 0, s) is s.
 */
function sharedSource(kind: GemmKind, settings: Shared): string {
  const { lanesX, lanesY, depth } = settings;
  const tile = gemmTile(settings);
  const invocations = lanesX * lanesY;
  const step = (k: number) =>
    `{
let w = vec4f(${range(4).map((c) => `tileB[${k * tile.columns}u + lane.x * 4u + ${c}u]`).join(", ")});
${each(4, (i) => `s${i} = fma(vec4f(tileA[${k * tile.rows}u + lane.y * 4u + ${i}u]), w, s${i});`)}
}`;
  return `${header(kind)}
var<workgroup> tileA: array<f32, ${depth * tile.rows}>;
var<workgroup> tileB: array<f32, ${depth * tile.columns}>;

@compute @workgroup_size(${lanesX}, ${lanesY})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let firstRow = workgroup.y * ${tile.rows}u;
  let firstColumn = workgroup.x * ${tile.columns}u;
${skipUpper("firstColumn", `firstRow + ${tile.rows}u`)}
${each(4, (i) => `var s${i} = vec4f();`)}
  for (var k0 = 0u; k0 < shape.depthVectors; k0 += ${depth / 4}u) {
    for (var e = invocation; e < ${tile.rows * depth / 4}u; e += ${invocations}u) {
${kind === "weightGradient" ? loadAcross("A", "row", tile.rows) : loadAlong("A", "row", tile.rows, depth)}
    }
    for (var e = invocation; e < ${tile.columns * depth / 4}u; e += ${invocations}u) {
${kind === "forward" ? loadAlong("B", "column", tile.columns, depth) : loadAcross("B", "column", tile.columns)}
    }
    workgroupBarrier();
${each(depth, step)}
    workgroupBarrier();
  }
  let column = (firstColumn >> 2u) + lane.x; // in vectors
${
    each(4, (i) =>
      `if (firstRow + lane.y * 4u + ${i}u < shape.rows && column < shape.columnVectors) {
let at = (firstRow + lane.y * 4u + ${i}u) * shape.cVectors + column;
${store(kind, `s${i}`)}
}`)
  }
}
`;
}

type Side = "row" | "column";

/** Vectors of the source run along K: its four values go to four consecutive k of one row or column of the tile. */
function loadAlong(tileName: "A" | "B", side: Side, width: number, depth: number): string {
  const first = side === "row" ? "firstRow" : "firstColumn";
  const stride = side === "row" ? "aVectors" : "depthVectors";
  return `let line = e / ${depth / 4}u;
let k = e % ${depth / 4}u;
let inside = ${first} + line < shape.${side}s && k0 + k < shape.depthVectors;
let at = min(${first} + line, shape.${side}s - 1u) * shape.${stride} + min(k0 + k, shape.depthVectors - 1u);
let value = select(vec4f(), ${tileName.toLowerCase()}[at], inside);
${range(4).map((i) => `tile${tileName}[(k * 4u + ${i}u) * ${width}u + line] = value[${i}];`).join("\n")}`;
}

/** Vectors of the source run along rows or columns: its four values go to one k. */
function loadAcross(tileName: "A" | "B", side: Side, width: number): string {
  const first = side === "row" ? "firstRow" : "firstColumn";
  const stride = side === "row" ? "aVectors" : "columnVectors";
  return `let k = e / ${width / 4}u;
let line = e % ${width / 4}u;
let vector = (${first} >> 2u) + line;
let inside = vector < shape.${side}Vectors && k0 * 4u + k < shape.depthVectors * 4u;
let at = min(k0 * 4u + k, shape.depthVectors * 4u - 1u) * shape.${stride} + min(vector, shape.${side}Vectors - 1u);
let value = select(vec4f(), ${tileName.toLowerCase()}[at], inside);
${range(4).map((i) => `tile${tileName}[k * ${width}u + line * 4u + ${i}u] = value[${i}];`).join("\n")}`;
}
