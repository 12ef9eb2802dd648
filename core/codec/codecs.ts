/**
 * The table of wire codecs, by the name that people type and that travels in a run's configuration. A new codec is a file
 * beside this one and a line here; the compiler then asks for its kernels (gpu/codecs/codecs.ts) and for its reference
 * (gpu/reference/codecs/codecs.ts).
 */

import type { WireCodec } from "./codec.ts";
import { iotaCodec } from "./iota.ts";
import { noneCodec } from "./none.ts";

const table = {
  none: noneCodec,
  iota: iotaCodec,
};

export type Codec = keyof typeof table;

export const codecs: Readonly<Record<Codec, WireCodec>> = table;

export const defaultCodec: Codec = "iota";

export const codecNames = Object.keys(table) as readonly Codec[]; // the table has no other keys
