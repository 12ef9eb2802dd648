/** The part of jax-js that is used here, as types of our own: the package is imported at run time only. */

export interface JaxArray {
  readonly ref: JaxArray; // this array, with one more owner
  readonly shape: readonly number[];
  add(other: JaxArray | number): JaxArray;
  sub(other: JaxArray | number): JaxArray;
  mul(other: JaxArray | number): JaxArray;
  div(other: JaxArray | number): JaxArray;
  reshape(shape: readonly number[]): JaxArray;
  data(): Promise<Float32Array>;
  dispose(): void;
}

/** Arrays by name and in lists. */
export type Tree = JaxArray | readonly Tree[] | { readonly [name: string]: Tree };

interface Numpy {
  array(values: Float32Array | Int32Array | number): JaxArray;
  zeros(shape: readonly number[]): JaxArray;
  matmul(a: JaxArray, b: JaxArray): JaxArray;
  transpose(a: JaxArray): JaxArray;
  sum(a: JaxArray, axis?: number): JaxArray;
  mean(a: JaxArray, axis?: number, options?: { keepdims: boolean }): JaxArray;
  sqrt(a: JaxArray): JaxArray;
  split(a: JaxArray, parts: number, axis: number): [JaxArray, JaxArray];
  concatenate(parts: readonly JaxArray[], axis: number): JaxArray;
}

export interface Jax {
  readonly numpy: Numpy;
  readonly nn: {
    silu(x: JaxArray): JaxArray;
    oneHot(ids: JaxArray, classes: number): JaxArray;
    logSoftmax(x: JaxArray, axis: number): JaxArray;
    dotProductAttention(q: JaxArray, k: JaxArray, v: JaxArray, options: { isCausal: boolean }): JaxArray;
  };
  readonly tree: {
    map(change: (...leaves: JaxArray[]) => Tree, first: Tree, ...others: Tree[]): Tree;
    leaves(tree: Tree): JaxArray[];
    ref<T extends Tree>(tree: T): T;
    dispose(tree: Tree): void;
  };
  init(): Promise<string[]>;
  defaultDevice(name: string): void;
  jit<Arguments extends Tree[], Result extends Tree>(
    compute: (...given: Arguments) => Result,
  ): (...given: Arguments) => Result;
  grad<Arguments extends JaxArray[]>(
    compute: (...given: Arguments) => JaxArray,
    options: { argnums: number[] },
  ): (...given: Arguments) => JaxArray[];
  valueAndGrad<First extends Tree, Others extends Tree[]>(
    compute: (first: First, ...others: Others) => JaxArray,
  ): (first: First, ...others: Others) => [JaxArray, First];
  blockUntilReady(tree: Tree): Promise<unknown>;
}
