/** JSON files beside a foreign tokenizer. */

import * as v from "valibot";
import { readIfPresent } from "../../files/disk.ts";
import { readJsonFile } from "../../files/json_file.ts";
import { UserError } from "../../program/errors.ts";

const mostBytes = 16_000_000;

/** As a file's bytes, unless it is larger than any such file is; null if it does not exist. */
export async function readSettingsBytes(path: string): Promise<Uint8Array | null> {
  const size = (await Deno.stat(path).catch(() => null))?.size ?? 0;
  if (size <= mostBytes) return await readIfPresent(path);
  throw new UserError(`'${path}' has ${size} bytes, of at most ${mostBytes}`, { next: "Fetch the folder again" });
}

/** Null if the file does not exist. */
export async function readSettings<Shape extends v.GenericSchema>(
  path: string,
  shape: Shape,
): Promise<v.InferOutput<Shape> | null> {
  const found = await readJsonFile(path, shape);
  if (found === null) return null;
  if ("value" in found) return found.value;
  throw new UserError(`'${path}' is damaged (${found.problem})`, { next: "Fetch the folder again" });
}

/** A token in such a file: its spelling, alone or with how it is found in text. */
export const tokenShape = v.nullish(v.union([v.string(), v.looseObject({ content: v.string() })]));

export const spellingOf = (token: v.InferOutput<typeof tokenShape>): string | undefined =>
  typeof token === "string" ? token : token?.content;
