/**
 * `owner.json`: the owner's decisions that a restart must know, written atomically before they take effect. A damaged
 * one stops the start, so that a removed node stays out.
 */

import * as v from "valibot";
import { readIfPresent, realDisk, writeAtomically } from "../../files/disk.ts";
import { UserError } from "../../program/errors.ts";

const shape = v.strictObject({ isPaused: v.boolean(), removed: v.array(v.string()) });

export type OwnerDecisions = v.InferOutput<typeof shape>;

const pathOf = (folder: string): string => `${folder}/owner.json`;

export async function readOwnerDecisions(folder: string): Promise<OwnerDecisions> {
  const bytes = await readIfPresent(pathOf(folder));
  if (bytes === null) return { isPaused: false, removed: [] };
  try {
    return v.parse(shape, JSON.parse(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new UserError(`Cannot read the owner's decisions in '${pathOf(folder)}'`, {
      next: "Restore it from a copy, or delete it, which readmits the nodes that the owner has removed",
      cause,
    });
  }
}

export async function writeOwnerDecisions(folder: string, decisions: OwnerDecisions): Promise<void> {
  const bytes = new TextEncoder().encode(`${JSON.stringify(decisions)}\n`);
  await writeAtomically(pathOf(folder), { disk: realDisk, chunks: [bytes] });
}
