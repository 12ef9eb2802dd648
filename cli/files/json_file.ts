/**
 * JSON files that a stranger may have written: their size is bounded, and what is wrong with them is one short sentence,
 * however many mistakes there are and however long the values.
 */

import * as v from "valibot";
import { attempting } from "../program/errors.ts";
import { isFile } from "./disk.ts";

/** `problem`: for a message, such as "files.0.bytes: …". */
export type Shaped<T> = { readonly value: T } | { readonly problem: string };

const mostBytes = 2 ** 26; // beyond any manifest; the values in memory take many times that
const longestProblem = 200; // characters

/** Null if the file does not exist. */
export async function readJsonFile<Shape extends v.GenericSchema>(
  path: string,
  shape: Shape,
): Promise<Shaped<v.InferOutput<Shape>> | null> {
  if (!await isFile(path)) return null;
  const { size } = await attempting({ action: "read", value: path }, () => Deno.stat(path));
  if (size > mostBytes) return { problem: `it has ${size} bytes, of at most ${mostBytes}` };
  const bytes = await attempting({ action: "read", value: path }, () => Deno.readFile(path));
  return shapedJson(new TextDecoder().decode(bytes), shape);
}

export function shapedJson<Shape extends v.GenericSchema>(text: string, shape: Shape): Shaped<v.InferOutput<Shape>> {
  const json = v.safeParse(v.pipe(v.string(), v.parseJson()), text);
  if (!json.success) return { problem: "it is not JSON" };
  const found = v.safeParse(shape, json.output, { abortEarly: true });
  if (found.success) return { value: found.output };
  const [issue] = found.issues;
  const problem = `${v.getDotPath(issue) ?? "JSON"}: ${issue.message}`;
  return { problem: problem.length > longestProblem ? `${problem.slice(0, longestProblem)}…` : problem };
}
