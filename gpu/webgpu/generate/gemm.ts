/**
 * WGSL of a linear layer's three matrix products, unrolled because naga guards every loop.
 *
 * So that results do not depend on the tile, each output is one chain of explicit `fma` over ascending K from zero; the
 * residual or old output is added once at the end. No dot(), no split K, no atomics.
 *
 * Sizes come from a uniform: on llvmpipe as fast as baked ones, with 3 shader compilations (0.14 s each) instead of 15.
 * They arrive divided by four: naga's guarded integer division hides from Mesa that lanes share an address, which made
 * products 6x slower.
 */

import { type DirectGemm as Direct, type GemmKind, type GemmSettings, gemmTile } from "./gemm_settings.ts";
import { sharedSource } from "./gemm_shared.ts";
import { header, skipUpper, store } from "./gemm_text.ts";
import { each } from "./unrolled.ts";

/** Increase it when a setting compiles to something else, so that older measurements do not count. */
export const gemmGeneration = 2;

/** Bindings: a, b, c, [residual for `forward`], shape. */
export function gemmSource(kind: GemmKind, settings: GemmSettings): string {
  return settings.family === "direct" ? directSource(kind, settings) : sharedSource(kind, settings);
}

/** Keeps everything in registers. */
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

/** Clamped past the edge: they read valid data and are not stored. */
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
