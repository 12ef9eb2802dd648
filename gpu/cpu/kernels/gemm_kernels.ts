/**
 * A matrix product's parts: packing into panels, the tile of two panels, the block over them.
 *
 * A panel of A holds 4 rows, one of B 8 columns, step by step of k, so the tile reads memory in order. Each output is
 * one chain of multiply-adds in ascending k, so neither tile nor blocking changes a bit. Odd depths get a step of
 * zeros.
 */

import { type Expression, f32, f32x4, i32, type Statement, v128 } from "../wasm/expressions.ts";
import { type FunctionBuilder, integers, type Local } from "../wasm/function_builder.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";

export const tileRows = 4;
export const tileColumns = 8;
const unroll = 2; // of k: a tenth faster than 1, not slower than 4
const rowFloats = 4; // of a tile row's first vector

type I32 = Expression<"i32">;
const plus = (a: I32, b: number): I32 => i32.add(a, i32.of(b));
const times = (a: I32, b: number): I32 => i32.mul(a, i32.of(b));

const tileSignature = integers("a", "b", "c", "depth", "rowBytes");

export function addGemm(module: ModuleBuilder): void {
  addPackRows(module);
  addPackLines(module);
  const tiles = { start: addTile(module, "multiplyTile", false), add: addTile(module, "multiplyAddTile", true) };
  addBlock(module, tiles);
  addRow(module, "multiplyRowLines", transposedSteps);
  addRow(module, "multiplyRowRows", storedSteps);
}

/** C (4, 8) = A B, or += with `adds`, of one panel each. */
function addTile(module: ModuleBuilder, name: string, adds: boolean) {
  return module.function(name, tileSignature, (f, { a, b, c, depth, rowBytes }) => {
    const rows = [f.let(c)];
    for (let r = 1; r < tileRows; r++) rows.push(f.let(i32.add(rows[r - 1]!, rowBytes)));
    const sums = rows.map((row) => [0, 1].map((half) => f.let(adds ? v128.load(row, 16 * half) : v128.zero())));
    const columns = [f.local("v128"), f.local("v128")];
    const value = f.local("v128");
    const steps = f.let(i32.shiftRight(depth, i32.of(1)));
    f.countDown(steps, () => {
      for (let k = 0; k < unroll; k++) {
        columns.forEach((column, half) => f.set(column, v128.load(b, 4 * tileColumns * k + 16 * half)));
        sums.forEach((ofRow, r) => {
          f.set(value, f32x4.loadSplat(a, 4 * (tileRows * k + r)));
          ofRow.forEach((sum, half) => f.set(sum, f32x4.add(sum, f32x4.mul(value, columns[half]!))));
        });
      }
      f.set(a, plus(a, 4 * tileRows * unroll));
      f.set(b, plus(b, 4 * tileColumns * unroll));
    });
    sums.forEach((ofRow, r) => ofRow.forEach((sum, half) => f.run(v128.store(rows[r]!, sum, 16 * half))));
  });
}

/** C (rows, columns) = A B, or += with `adds` 1. Tiles over C's edge are computed in `edge`. */
function addBlock(module: ModuleBuilder, tiles: { start: Tile; add: Tile }): void {
  const signature = integers("a", "b", "c", "rows", "columns", "depth", "rowBytes", "edge", "adds");
  module.function("multiplyBlock", signature, (f, { a, b, c, rows, columns, depth, rowBytes, edge, adds }) => {
    const [panelA, to, ownRows, ownColumns] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
    f.for({ below: columns, by: tileColumns }, (column) => {
      f.set(panelA, a);
      f.set(to, i32.add(c, times(column, 4)));
      f.set(ownColumns, least(f, i32.sub(columns, column), tileColumns));
      f.for({ below: rows, by: tileRows }, (row) => {
        f.set(ownRows, least(f, i32.sub(rows, row), tileRows));
        const isWhole = i32.equal(i32.add(ownRows, ownColumns), i32.of(tileRows + tileColumns));
        const args = { a: panelA, b, depth };
        f.if(isWhole, () => {
          const whole = { ...args, c: to, rowBytes };
          f.if(adds, () => f.run(tiles.add.call(whole)), () => f.run(tiles.start.call(whole)));
        }, () => {
          const part = { edge, to, rowBytes, rows: ownRows, columns: ownColumns };
          const inEdge = { ...args, c: edge, rowBytes: i32.of(4 * tileColumns) };
          f.if(adds, () => {
            copyEdge(f, part, (inC, at) => f32.store(at, f32.load(inC)));
            f.run(tiles.add.call(inEdge));
          }, () => f.run(tiles.start.call(inEdge)));
          copyEdge(f, part, (inC, at) => f32.store(inC, f32.load(at)));
        });
        f.set(panelA, i32.add(panelA, times(depth, 4 * tileRows)));
        f.set(to, i32.add(to, times(rowBytes, tileRows)));
      });
      f.set(b, i32.add(b, times(depth, 4 * tileColumns)));
    });
  });
}

type Tile = ReturnType<typeof addTile>;

interface Edge {
  readonly edge: Local<"i32">;
  readonly to: Local<"i32">;
  readonly rowBytes: Local<"i32">;
  readonly rows: Local<"i32">;
  readonly columns: Local<"i32">;
}

/** The part of an edge tile inside C. */
function copyEdge(
  f: FunctionBuilder,
  { edge, to, rowBytes, rows, columns }: Edge,
  copy: (inC: I32, inEdge: I32) => Statement,
): void {
  f.for({ below: rows }, (row) => {
    f.for({ below: columns }, (column) => {
      const inEdge = i32.add(edge, times(i32.add(times(row, tileColumns), column), 4));
      f.run(copy(i32.add(i32.add(to, i32.mul(row, rowBytes)), times(column, 4)), inEdge));
    });
  });
}

function least(f: FunctionBuilder, value: I32, bound: number): I32 {
  const result = f.let(value);
  f.if(i32.isBelow(i32.of(bound), result), () => f.set(result, i32.of(bound)));
  return result;
}

/** Four steps of k of four columns, each a vector over the columns. */
type Steps = (f: FunctionBuilder, at: Local<"i32">, rowBytes: Local<"i32">) => Expression<"v128">[];

const transposedSteps: Steps = (f, at, rowBytes) => transposed(f, fourRows(f, at, rowBytes)).map((step) => f.let(step));
const storedSteps: Steps = (f, at, rowBytes) => fourRows(f, at, rowBytes);

function fourRows(f: FunctionBuilder, at: Local<"i32">, rowBytes: Local<"i32">): Local<"v128">[] {
  const place = f.let(at);
  return [0, 1, 2, 3].map((row) => {
    if (row > 0) f.set(place, i32.add(place, rowBytes));
    return f.let(v128.load(place));
  });
}

const rowVectors = 2; // chains of sums beside each other: one alone waits for its last addition

/**
 * C (1, columns) = A B, or += with `adds` 1, with B where it is stored: packing costs more than a product of one row.
 * `rowBytes`: between stored rows of B; `across`, `along`: bytes from four columns or steps of k to the next. The sums
 * are the tiles'. Columns and depth are multiples of 4.
 */
function addRow(module: ModuleBuilder, name: string, stepsOf: Steps): void {
  const signature = integers("a", "b", "c", "columns", "depth", "rowBytes", "across", "along", "adds");
  module.function(name, signature, (f, { a, b, c, columns, depth, rowBytes, across, along, adds }) => {
    const [fromA, fromB, next] = [f.local("i32"), f.local("i32"), f.local("i32")];
    const end = f.let(i32.add(c, times(columns, 4)));
    const vectors = (count: number) => {
      const sums = Array.from({ length: count }, () => f.local("v128"));
      f.while(i32.isAtLeast(end, plus(c, 16 * count)), () => {
        for (const [i, sum] of sums.entries()) {
          f.if(adds, () => f.set(sum, v128.load(c, 16 * i)), () => f.set(sum, v128.zero()));
        }
        f.set(fromA, a);
        f.set(fromB, b);
        f.for({ below: depth, by: 4 }, () => {
          f.set(next, fromB);
          const blocks = sums.map((_, i) => {
            if (i > 0) f.set(next, i32.add(next, across));
            return stepsOf(f, next, rowBytes);
          });
          for (let k = 0; k < 4; k++) {
            const value = f.let(f32x4.loadSplat(fromA, 4 * k));
            for (const [i, sum] of sums.entries()) f.set(sum, f32x4.add(sum, f32x4.mul(value, blocks[i]![k]!)));
          }
          f.set(fromA, plus(fromA, 16));
          f.set(fromB, i32.add(fromB, along));
        });
        for (const [i, sum] of sums.entries()) f.run(v128.store(c, sum, 16 * i));
        f.set(c, plus(c, 16 * count));
        for (let i = 0; i < count; i++) f.set(b, i32.add(b, across));
      });
    };
    vectors(rowVectors);
    vectors(1);
  });
}

/**
 * Four columns of a row-major matrix into a panel: each of `depth` rows, `rowBytes` apart, becomes a step of
 * `stepBytes`. From `columns` on they are zeros.
 */
function addPackRows(module: ModuleBuilder): void {
  const signature = integers("from", "to", "depth", "columns", "rowBytes", "stepBytes");
  module.function("packRows", signature, (f, { from, to, depth, columns, rowBytes, stepBytes }) => {
    const next = () => {
      f.set(from, i32.add(from, rowBytes));
      f.set(to, i32.add(to, stepBytes));
    };
    f.if(i32.isAtLeast(columns, i32.of(rowFloats)), () => {
      f.for({ below: depth }, () => {
        f.run(v128.store(to, v128.load(from)));
        next();
      });
    }, () => {
      f.for({ below: depth }, () => {
        f.run(v128.store(to, v128.zero()));
        f.for({ below: columns }, (column) => {
          const offset = times(column, 4);
          f.run(f32.store(i32.add(to, offset), f32.load(i32.add(from, offset))));
        });
        next();
      });
    });
    f.if(i32.and(depth, i32.of(1)), () => f.run(v128.store(to, v128.zero())));
  });
}

/** Four rows of a row-major matrix into a panel of `depth` steps (a multiple of 4). From `rows` on they are zeros. */
function addPackLines(module: ModuleBuilder): void {
  const signature = integers("from", "to", "depth", "rows", "rowBytes", "stepBytes");
  module.function("packLines", signature, (f, { from, to, depth, rows, rowBytes, stepBytes }) => {
    const starts = [f.let(from)];
    for (let r = 1; r < 4; r++) starts.push(f.let(i32.add(starts[r - 1]!, rowBytes)));
    const lines = starts.map(() => f.let(v128.zero()));
    f.for({ below: depth, by: 4 }, () => {
      lines.forEach((line, r) => {
        f.if(i32.isBelow(i32.of(r), rows), () => f.set(line, v128.load(starts[r]!)));
        f.set(starts[r]!, plus(starts[r]!, 16));
      });
      for (const step of transposed(f, lines)) {
        f.run(v128.store(to, step));
        f.set(to, i32.add(to, stepBytes));
      }
    });
  });
}

export function transposed(f: FunctionBuilder, lines: readonly Local<"v128">[]): Expression<"v128">[] {
  const [a, b, c, d] = lines as [Local<"v128">, Local<"v128">, Local<"v128">, Local<"v128">];
  const lowAb = f.let(f32x4.shuffle(a, b, [0, 4, 1, 5]));
  const lowCd = f.let(f32x4.shuffle(c, d, [0, 4, 1, 5]));
  const highAb = f.let(f32x4.shuffle(a, b, [2, 6, 3, 7]));
  const highCd = f.let(f32x4.shuffle(c, d, [2, 6, 3, 7]));
  return [
    f32x4.shuffle(lowAb, lowCd, [0, 1, 4, 5]),
    f32x4.shuffle(lowAb, lowCd, [2, 3, 6, 7]),
    f32x4.shuffle(highAb, highCd, [0, 1, 4, 5]),
    f32x4.shuffle(highAb, highCd, [2, 3, 6, 7]),
  ];
}
