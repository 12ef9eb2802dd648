/**
 * The bytes of small ONNX models: nodes on float32 tensors of fixed shapes (onnx.proto3 of ONNX 1.8, operator set 13).
 *
 * Owns the fields that these models need of the format's protocol buffers, and no others.
 */

export interface OnnxNode {
  readonly operator: string; // e.g. "MatMul"
  readonly inputs: readonly string[];
  readonly output: string;
  readonly integers?: Readonly<Record<string, number>>;
  readonly lists?: Readonly<Record<string, readonly number[]>>;
}

export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  readonly inputs: Readonly<Record<string, readonly number[]>>; // shapes by name
  readonly outputs: Readonly<Record<string, readonly number[]>>;
}

const irVersion = 7;
const operatorSet = 13;
const float32 = 1;
const attributeTypes = { integer: 2, integers: 7 };

export function onnxModel({ nodes, inputs, outputs }: OnnxGraph): Uint8Array<ArrayBuffer> {
  const graph = [
    ...nodes.flatMap((node) => message(1, nodeOf(node))),
    ...text(2, "graph"),
    ...Object.entries(inputs).flatMap(([name, shape]) => message(11, valueOf(name, shape))),
    ...Object.entries(outputs).flatMap(([name, shape]) => message(12, valueOf(name, shape))),
  ];
  const operators = [...text(1, ""), ...integer(2, operatorSet)];
  return Uint8Array.from([...integer(1, irVersion), ...message(7, graph), ...message(8, operators)]);
}

function nodeOf({ operator, inputs, output, integers = {}, lists = {} }: OnnxNode): number[] {
  const attributes = [
    ...Object.entries(integers).map(([name, value]) => [
      ...text(1, name),
      ...integer(3, value),
      ...integer(20, attributeTypes.integer),
    ]),
    ...Object.entries(lists).map(([name, values]) => [
      ...text(1, name),
      ...values.flatMap((value) => integer(8, value)),
      ...integer(20, attributeTypes.integers),
    ]),
  ];
  return [
    ...inputs.flatMap((name) => text(1, name)),
    ...text(2, output),
    ...text(4, operator),
    ...attributes.flatMap((attribute) => message(5, attribute)),
  ];
}

function valueOf(name: string, shape: readonly number[]): number[] {
  const dimensions = shape.flatMap((size) => message(1, integer(1, size)));
  const tensor = [...integer(1, float32), ...message(2, dimensions)];
  return [...text(1, name), ...message(2, message(1, tensor))];
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(rest % 128 + 128);
  return [...bytes, rest];
}

const integer = (field: number, value: number): number[] => [...varint(field * 8), ...varint(value)];

const message = (field: number, bytes: readonly number[]): number[] => [
  ...varint(field * 8 + 2),
  ...varint(bytes.length),
  ...bytes,
];

const text = (field: number, value: string): number[] => message(field, [...new TextEncoder().encode(value)]);
