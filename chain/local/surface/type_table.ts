/** Metadata's type table. A named type may contain itself, so it gets its number before its parts are visited. */

import { assert } from "../../../core/assert.ts";
import type { ScaleWriter } from "./scale_bytes.ts";
import { type NamedType, type NamedTypes, parseType, type Primitive, type TypeNode } from "./type_language.ts";
import type { VariantField } from "./type_language.ts";

/** The metadata format's tags. */
const shapes = { composite: 0, variant: 1, sequence: 2, array: 3, tuple: 4, primitive: 5, compact: 6 } as const;
const primitiveTags: Readonly<Record<Primitive, number>> = {
  bool: 0,
  str: 2,
  u8: 3,
  u16: 4,
  u32: 5,
  u64: 6,
  u128: 7,
  i8: 9,
  i16: 10,
  i32: 11,
  i64: 12,
  i128: 13,
};

interface TypeParameter {
  readonly name: string;
  readonly type: string;
}

interface Entry {
  readonly path: string;
  readonly parameters: readonly TypeParameter[];
  readonly writeShape: (writer: ScaleWriter) => void;
}

export class TypeTable {
  readonly #named: NamedTypes;
  readonly #ids = new Map<string, number>();
  readonly #entries: (Entry | null)[] = []; // null while its parts are numbered

  constructor(named: NamedTypes) {
    this.#named = named;
  }

  id(type: string): number {
    return this.#idOf(parseType(type));
  }

  /** Not in the language; its parameters lead clients to other types. */
  idOfExtrinsic(parameters: readonly TypeParameter[]): number {
    const body = this.id("Vec<u8>");
    for (const { type } of parameters) this.id(type);
    return this.#add("extrinsic", () => ({
      path: "sp_runtime::generic::unchecked_extrinsic::UncheckedExtrinsic",
      parameters,
      writeShape: (writer) => {
        writer.u8(shapes.composite);
        writer.compact(1);
        writeField(writer, { name: null, type: "Vec<u8>", id: body });
      },
    }));
  }

  /** Call last: types numbered later are missing. */
  write(writer: ScaleWriter): void {
    writer.compact(this.#entries.length);
    this.#entries.forEach((entry, id) => {
      assert(entry !== null, `Cannot write the type table: type ${id} is incomplete`);
      writer.compact(id);
      const path = entry.path === "" ? [] : entry.path.split("::");
      writer.compact(path.length);
      for (const part of path) writer.text(part);
      writer.compact(entry.parameters.length);
      for (const { name, type } of entry.parameters) {
        writer.text(name);
        writer.u8(1);
        writer.compact(this.id(type));
      }
      entry.writeShape(writer);
      writer.compact(0);
    });
  }

  #idOf(node: TypeNode): number {
    return this.#add(JSON.stringify(node), () => this.#entry(node));
  }

  #add(key: string, entry: () => Entry): number {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#entries.length;
    this.#ids.set(key, id);
    this.#entries.push(null);
    this.#entries[id] = entry();
    return id;
  }

  #entry(node: TypeNode): Entry {
    switch (node.kind) {
      case "primitive":
        return plain((writer) => {
          writer.u8(shapes.primitive);
          writer.u8(primitiveTags[node.name]);
        });
      case "compact":
        return this.#holder(shapes.compact, node.of);
      case "vec":
        return this.#holder(shapes.sequence, node.of);
      case "array": {
        const of = this.#idOf(node.of);
        return plain((writer) => {
          writer.u8(shapes.array);
          writer.u32(node.length);
          writer.compact(of);
        });
      }
      case "tuple": {
        const items = node.items.map((item) => this.#idOf(item));
        return plain((writer) => {
          writer.u8(shapes.tuple);
          writer.compact(items.length);
          for (const item of items) writer.compact(item);
        });
      }
      case "option":
        return this.#option(node.of);
      case "named": {
        const type = this.#named[node.name];
        assert(type !== undefined, `Cannot number the type '${node.name}': it is not declared`);
        return this.#declared(type);
      }
    }
  }

  #holder(shape: number, node: TypeNode): Entry {
    const of = this.#idOf(node);
    return plain((writer) => {
      writer.u8(shape);
      writer.compact(of);
    });
  }

  #option(node: TypeNode): Entry {
    const of = this.#idOf(node);
    return {
      path: "Option",
      parameters: [{ name: "T", type: textOf(node) }],
      writeShape: (writer) => {
        writer.u8(shapes.variant);
        writer.compact(2);
        writeVariant(writer, { name: "None", index: 0, fields: [] });
        writeVariant(writer, { name: "Some", index: 1, fields: [{ name: null, type: "T", id: of }] });
      },
    };
  }

  #declared(type: NamedType): Entry {
    const { path } = type;
    const parameters = Object.entries(type.parameters ?? {}).map(([name, of]) => ({ name, type: of }));
    for (const parameter of parameters) this.id(parameter.type);
    if ("variants" in type) {
      const variants = Object.entries(type.variants).map(([name, { index, fields, doc }]) => ({
        name,
        index,
        fields: this.#numbered(fields),
        ...(doc === undefined ? {} : { doc }),
      }));
      return {
        path,
        parameters,
        writeShape: (writer) => {
          writer.u8(shapes.variant);
          writer.compact(variants.length);
          for (const variant of variants) writeVariant(writer, variant);
        },
      };
    }
    const fields = "wraps" in type
      ? this.#numbered([{ name: null, type: type.wraps }])
      : this.#numbered(Object.entries(type.fields).map(([name, of]) => ({ name, type: of })));
    return {
      path,
      parameters,
      writeShape: (writer) => {
        writer.u8(shapes.composite);
        writer.compact(fields.length);
        for (const field of fields) writeField(writer, field);
      },
    };
  }

  #numbered(fields: readonly VariantField[]): NumberedField[] {
    return fields.map((field) => ({ ...field, id: this.id(field.type) }));
  }
}

interface NumberedField extends VariantField {
  readonly id: number;
}

function plain(writeShape: Entry["writeShape"]): Entry {
  return { path: "", parameters: [], writeShape };
}

function writeVariant(
  writer: ScaleWriter,
  variant: { name: string; index: number; fields: readonly NumberedField[]; doc?: string },
): void {
  writer.text(variant.name);
  writer.compact(variant.fields.length);
  for (const field of variant.fields) writeField(writer, field);
  writer.u8(variant.index);
  writer.compact(variant.doc === undefined ? 0 : 1);
  if (variant.doc !== undefined) writer.text(variant.doc);
}

function writeField(writer: ScaleWriter, { name, type, id }: NumberedField): void {
  writer.u8(name === null ? 0 : 1);
  if (name !== null) writer.text(name);
  writer.compact(id);
  writer.u8(1);
  writer.text(type);
  writer.compact(0);
}

function textOf(node: TypeNode): string {
  switch (node.kind) {
    case "primitive":
    case "named":
      return node.name;
    case "compact":
      return `Compact<${textOf(node.of)}>`;
    case "vec":
      return `Vec<${textOf(node.of)}>`;
    case "option":
      return `Option<${textOf(node.of)}>`;
    case "array":
      return `[${textOf(node.of)}; ${node.length}]`;
    case "tuple":
      return `(${node.items.map(textOf).join(", ")})`;
  }
}
