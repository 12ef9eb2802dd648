/** A local is an expression that reads it. Loops count with unsigned 32-bit integers. */

import { unsigned } from "./encoding.ts";
import { type Expression, i32, type Statement, type ValueType } from "./expressions.ts";

export interface Local<Type extends ValueType> extends Expression<Type> {
  readonly index: number;
}

export const typeCodes: Readonly<Record<ValueType, number>> = { i32: 0x7f, f32: 0x7d, v128: 0x7b };

export type Signature = Readonly<Record<string, ValueType>>;
export type Parameters<Types extends Signature> = { readonly [Name in keyof Types]: Local<Types[Name]> };

export function integers<const Name extends string>(...names: Name[]): Record<Name, "i32"> {
  return Object.fromEntries(names.map((name) => [name, "i32"])) as Record<Name, "i32">;
}

export function floats<const Name extends string>(...names: Name[]): Record<Name, "f32"> {
  return Object.fromEntries(names.map((name) => [name, "f32"])) as Record<Name, "f32">;
}

const noResult = 0x40;
const block = 0x02;
const loop = 0x03;
const branch = 0x0c;
const branchIf = 0x0d;
const otherwise = 0x05;
const end = 0x0b;

interface Loop {
  readonly from?: Expression<"i32">; // @default 0
  readonly below: Expression<"i32">;
  readonly by?: number; // @default 1
}

export class FunctionBuilder {
  readonly #parameters: number;
  readonly #locals: ValueType[] = [];
  #code: number[] = [];

  constructor(parameters: number) {
    this.#parameters = parameters;
  }

  local<Type extends ValueType>(type: Type): Local<Type> {
    const index = this.#parameters + this.#locals.length;
    this.#locals.push(type);
    return localAt(type, index);
  }

  let<Type extends ValueType>(value: Expression<Type>): Local<Type> {
    const local = this.local(value.type);
    this.set(local, value);
    return local;
  }

  set<Type extends ValueType>(local: Local<Type>, value: Expression<Type>): void {
    this.#emit([...value.bytes, 0x21, ...unsigned(local.index)]);
  }

  run(statement: Statement): void {
    this.#emit(statement.bytes);
  }

  for({ from = i32.of(0), below, by = 1 }: Loop, body: (index: Local<"i32">) => void): void {
    const index = this.let(from);
    this.#emit([block, noResult, loop, noResult]);
    this.#emit([...i32.isAtLeast(index, below).bytes, branchIf, 1]);
    body(index);
    this.set(index, i32.add(index, i32.of(by)));
    this.#emit([branch, 0, end, end]);
  }

  while(condition: Expression<"i32">, body: () => void): void {
    this.#emit([loop, noResult]);
    this.if(condition, () => {
      body();
      this.#emit([branch, 1]);
    });
    this.#emit([end]);
  }

  /** At least once; the cheapest loop. Changes `count`. */
  countDown(count: Local<"i32">, body: () => void): void {
    this.#emit([loop, noResult]);
    body();
    this.set(count, i32.sub(count, i32.of(1)));
    this.#emit([...count.bytes, branchIf, 0, end]);
  }

  if(condition: Expression<"i32">, then: () => void, otherwiseDo?: () => void): void {
    this.#emit([...condition.bytes, 0x04, noResult]);
    then();
    if (otherwiseDo !== undefined) {
      this.#emit([otherwise]);
      otherwiseDo();
    }
    this.#emit([end]);
  }

  body(): number[] {
    const declarations = this.#locals.map((type) => [1, typeCodes[type]]);
    const content = [...unsigned(declarations.length), ...declarations.flat(), ...this.#code, end];
    return [...unsigned(content.length), ...content];
  }

  #emit(bytes: readonly number[]): void {
    for (const byte of bytes) this.#code.push(byte);
  }
}

export function localAt<Type extends ValueType>(type: Type, index: number): Local<Type> {
  return { type, index, bytes: [0x20, ...unsigned(index)] };
}
