/** Why a `tokenizer.json` is not used: one error, one advice. */

import * as v from "valibot";
import { UserError } from "../../program/errors.ts";

/** Throws a `UserError` about the file that is being read. */
export type Refuse = (reason: string, next?: string) => never;

export const refuseFile = (path: string): Refuse => (reason, next) => {
  throw new UserError(`The tokenizer '${path}' cannot be used: ${reason}`, {
    next: next ?? "Fetch the file again, or use another tokenizer: byte-level BPE, as most models have it, works",
  });
};

/** `where`: the part of the file that `value` is. */
export function shaped<Shape extends v.GenericSchema>(
  value: unknown,
  { shape, where, refuse }: { shape: Shape; where: string; refuse: Refuse },
): v.InferOutput<Shape> {
  const found = v.safeParse(shape, value);
  if (found.success) return found.output;
  const [issue] = found.issues;
  const path = v.getDotPath(issue);
  return refuse(`${where}${path === null ? "" : `.${path}`}: ${issue.message}`);
}

/** For a message: a stranger's value may be long. */
export function quoted(value: string): string {
  return `'${value.length > 60 ? `${value.slice(0, 60)}…` : value}'`;
}

const partShape = v.looseObject({ type: v.string() });
const deepest = 8; // sequences in sequences
const mostParts = 64;

export type FilePart = v.InferOutput<typeof partShape>;

/** A part of the file that may be null, one of a kind, or a sequence of them in `member`. */
export function partsOf(
  value: unknown,
  { member, where, refuse }: { member: string; where: string; refuse: Refuse },
): FilePart[] {
  const flat = (value: unknown, depth: number): FilePart[] => {
    if (value === null || value === undefined) return [];
    const part = shaped(value, { shape: partShape, where, refuse });
    if (part.type !== "Sequence") return [part];
    const inside = part[member];
    if (depth > deepest || !Array.isArray(inside) || inside.length > mostParts) {
      return refuse(`${where} is a sequence that is damaged or too deep`);
    }
    return inside.flatMap((each) => flat(each, depth + 1));
  };
  const parts = flat(value, 0);
  return parts.length > mostParts ? refuse(`${where} has ${parts.length} parts, of at most ${mostParts}`) : parts;
}
