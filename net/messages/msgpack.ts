/**
 * MessagePack for headers: msgpackr reads and writes plain data only, after a guard has checked foreign bytes.
 *
 * Decoding never throws. Minus zero is written as zero.
 */

import { Packr, Unpackr } from "msgpackr";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import { headerProblem, type MsgpackLimits } from "./msgpack_guard.ts";

/** msgpackr's own types lack `skipValues`. */
const writing: ConstructorParameters<typeof Packr>[0] & { readonly skipValues: readonly unknown[] } = {
  useRecords: false,
  variableMapSize: true,
  skipValues: [undefined],
};
const packr = new Packr(writing);
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: "number" });

/** Properties that are `undefined` are left out, as in JSON. */
export function encodeMsgpack(value: unknown): Uint8Array {
  const { buffer, byteOffset, byteLength } = packr.pack(value);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export function decodeMsgpack(bytes: Uint8Array, limits: MsgpackLimits): Parsed<unknown> {
  if (bytes.length > limits.maxBytes) {
    return refused(
      "limitExceeded",
      `Cannot read a header: 'headerBytes' must be at most ${limits.maxBytes}, and is ${bytes.length}`,
    );
  }
  const problem = headerProblem(bytes, limits);
  return problem === null
    ? parsed(unpackr.unpack(bytes))
    : refused("malformedFrame", `Cannot read a header: ${problem}`);
}
