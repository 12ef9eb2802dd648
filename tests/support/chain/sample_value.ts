/** A value of any type of the surface, the same for the same seed: lists have two items, options are there. */

import { type NamedTypes, parseType, type TypeNode } from "../../../chain/local/surface/type_language.ts";
import { camelCase } from "../../../chain/local/surface/scale.ts";

interface Sample {
  readonly type: string;
  readonly seed: number;
}

export function sampleValue(types: NamedTypes, { type, seed }: Sample): unknown {
  return valueOf(parseType(type), { types, seed });
}

function valueOf(node: TypeNode, of: { types: NamedTypes; seed: number }): unknown {
  const { types, seed } = of;
  const nested = (inner: TypeNode, step: number) => valueOf(inner, { types, seed: seed + step });
  switch (node.kind) {
    case "primitive":
      if (node.name === "bool") return seed % 2 === 1;
      if (node.name === "str") return `text ${seed}`;
      return (seed * 37) % 100;
    case "compact":
      return node.of.kind === "primitive" ? BigInt((seed * 21) % 256) : null; // of nothing: nothing
    case "vec":
      return isByte(node.of) ? bytes(5, seed) : [nested(node.of, 1), nested(node.of, 2)];
    case "option":
      return nested(node.of, 1);
    case "array":
      if (isByte(node.of)) return bytes(node.length, seed);
      return Array.from({ length: node.length }, (_, i) => nested(node.of, i));
    case "tuple":
      return node.items.map((item, i) => nested(item, i + 1));
    case "named": {
      const type = types[node.name]!;
      if ("wraps" in type) return nested(parseType(type.wraps), 0);
      if ("fields" in type) {
        const fields = Object.entries(type.fields);
        return Object.fromEntries(fields.map(([name, inner], i) => [camelCase(name), nested(parseType(inner), i + 1)]));
      }
      const [name, variant] = Object.entries(type.variants)[0]!;
      const values = variant.fields.map((field, i) => nested(parseType(field.type), i + 1));
      return { type: name, value: values.length === 1 ? values[0] : values };
    }
  }
}

function isByte(node: TypeNode): boolean {
  return node.kind === "primitive" && node.name === "u8";
}

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => seed * 31 + i);
}
