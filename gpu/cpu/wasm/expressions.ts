/**
 * Typed WebAssembly expressions, as bytes that leave a value on the stack. Their types make every kernel that compiles
 * a valid module. Only operations with the same bits on every machine: no relaxed SIMD.
 */

import { float32, signed, unsigned } from "./encoding.ts";

export type ValueType = "i32" | "f32" | "v128";

export interface Expression<Type extends ValueType> {
  readonly type: Type;
  readonly bytes: readonly number[];
}

export interface Statement {
  readonly type: "none";
  readonly bytes: readonly number[];
}

type I32 = Expression<"i32">;
type F32 = Expression<"f32">;
type V128 = Expression<"v128">;

type Operand = Expression<ValueType>;

function made<Type extends ValueType>(
  type: Type,
  operands: readonly Operand[],
  code: readonly number[],
): Expression<Type> {
  return { type, bytes: [...operands.flatMap(({ bytes }) => bytes), ...code] };
}

const one = <In extends ValueType, Out extends ValueType>(out: Out, ...code: number[]) => (a: Expression<In>) =>
  made(out, [a], code);
const two =
  <In extends ValueType, Out extends ValueType>(out: Out, ...code: number[]) =>
  (a: Expression<In>, b: Expression<In>) => made(out, [a, b], code);

const simd = (operation: number): number[] => [0xfd, ...unsigned(operation)];

/** Alignment as a power of two. */
const at = (alignment: number, offset: number): number[] => [...unsigned(alignment), ...unsigned(offset)];

const load =
  <Type extends ValueType>(type: Type, code: readonly number[], alignment: number) =>
  (address: I32, offset = 0): Expression<Type> => made(type, [address], [...code, ...at(alignment, offset)]);

const store =
  <Type extends ValueType>(code: readonly number[], alignment: number) =>
  (address: I32, value: Expression<Type>, offset = 0): Statement => ({
    type: "none",
    bytes: [...address.bytes, ...value.bytes, ...code, ...at(alignment, offset)],
  });

export const i32 = {
  of: (value: number): I32 => ({ type: "i32", bytes: [0x41, ...signed(value)] }),
  add: two<"i32", "i32">("i32", 0x6a),
  sub: two<"i32", "i32">("i32", 0x6b),
  mul: two<"i32", "i32">("i32", 0x6c),
  remainder: two<"i32", "i32">("i32", 0x70), // unsigned
  and: two<"i32", "i32">("i32", 0x71),
  shiftLeft: two<"i32", "i32">("i32", 0x74),
  shiftRight: two<"i32", "i32">("i32", 0x75), // arithmetic
  equal: two<"i32", "i32">("i32", 0x46),
  isBelow: two<"i32", "i32">("i32", 0x49), // unsigned
  isAtLeast: two<"i32", "i32">("i32", 0x4f), // unsigned
  load: load("i32", [0x28], 2),
};

export const f32 = {
  of: (value: number): F32 => ({ type: "f32", bytes: [0x43, ...float32(value)] }),
  add: two<"f32", "f32">("f32", 0x92),
  sub: two<"f32", "f32">("f32", 0x93),
  mul: two<"f32", "f32">("f32", 0x94),
  div: two<"f32", "f32">("f32", 0x95),
  sqrt: one<"f32", "f32">("f32", 0x91),
  ofInteger: one<"i32", "f32">("f32", 0xb2), // signed
  load: load("f32", [0x2a], 2),
  store: store<"f32">([0x38], 2),
};

export const v128 = {
  load: load("v128", simd(0x00), 2),
  store: store<"v128">(simd(0x0b), 2),
  and: two<"v128", "v128">("v128", ...simd(0x4e)),
  /** `a` where `mask` has ones, otherwise `b`. */
  select: (a: V128, b: V128, mask: V128): V128 => made("v128", [a, b, mask], simd(0x52)),
  zero: (): V128 => ({ type: "v128", bytes: [...simd(0x0c), ...new Array<number>(16).fill(0)] }),
};

export const f32x4 = {
  splat: one<"f32", "v128">("v128", ...simd(0x13)),
  loadSplat: load("v128", simd(0x09), 2),
  lane: (vector: V128, index: number): F32 => made("f32", [vector], [...simd(0x1f), index]),
  add: two<"v128", "v128">("v128", ...simd(0xe4)),
  sub: two<"v128", "v128">("v128", ...simd(0xe5)),
  mul: two<"v128", "v128">("v128", ...simd(0xe6)),
  div: two<"v128", "v128">("v128", ...simd(0xe7)),
  min: two<"v128", "v128">("v128", ...simd(0xe8)),
  max: two<"v128", "v128">("v128", ...simd(0xe9)),
  sqrt: one<"v128", "v128">("v128", ...simd(0xe3)),
  neg: one<"v128", "v128">("v128", ...simd(0xe1)),
  isBelow: two<"v128", "v128">("v128", ...simd(0x43)), // all ones or zeros per lane
  isAbove: two<"v128", "v128">("v128", ...simd(0x44)),
  nearest: one<"v128", "v128">("v128", ...simd(0x6a)), // ties to even
  ofIntegers: one<"v128", "v128">("v128", ...simd(0xfa)), // signed i32 lanes
  /** Lanes 0 to 3 are of `a`, 4 to 7 of `b`. */
  shuffle: (a: V128, b: V128, lanes: readonly [number, number, number, number]): V128 =>
    made("v128", [a, b], [...simd(0x0d), ...lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte))]),
};

export const i32x4 = {
  of: (value: number): V128 => made("v128", [i32.of(value)], simd(0x11)),
  add: two<"v128", "v128">("v128", ...simd(0xae)),
  sub: two<"v128", "v128">("v128", ...simd(0xb1)),
  shiftLeft: (vector: V128, by: number): V128 => made("v128", [vector, i32.of(by)], simd(0xab)),
  shiftRight: (vector: V128, by: number): V128 => made("v128", [vector, i32.of(by)], simd(0xac)), // arithmetic
  ofFloats: one<"v128", "v128">("v128", ...simd(0xf8)), // toward zero, saturating
};
