/**
 * Keeps what reveals salted weights in the data folder, one file per hotkey, subnet and mechanism.
 *
 * Only the owner can enter it: anyone who knows a salt can read the weights early. A salt is on disk before its commit
 * is sent.
 */

import * as v from "valibot";
import type { Address } from "../../chain/call.ts";
import { readIfPresent, realDisk, writeAtomically } from "../files/disk.ts";
import { attempting, UserError } from "../program/errors.ts";

const u16s = v.array(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff)));

const commitSchema = v.object({
  sentAfterBlock: v.number(), // the newest block when it was sent
  committedBlock: v.nullable(v.number()), // null: no answer arrived
  uids: u16s,
  values: u16s,
  salt: u16s,
  versionKey: v.pipe(v.string(), v.regex(/^\d+$/)), // u64
});

const fileSchema = v.object({ version: v.literal(1), commits: v.array(commitSchema) });

export type SavedCommit = v.InferOutput<typeof commitSchema>;

export interface CommitPlace {
  readonly dataFolder: string;
  readonly hotkey: Address;
  readonly netuid: number;
  readonly mechanism: number;
}

const commitsMax = 32; // the chain keeps ten per hotkey
const lifeBlocks = 128; // a call lands within these or never

export async function readSavedCommits(place: CommitPlace): Promise<SavedCommit[]> {
  const path = commitPath(place);
  const bytes = await readIfPresent(path);
  if (bytes === null) return [];
  try {
    return v.parse(fileSchema, JSON.parse(new TextDecoder().decode(bytes))).commits;
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new UserError(`Cannot read the saved commits in ${path}: ${detail}`, {
      next: "Move the file away; the commits in it can no longer be revealed",
      cause,
    });
  }
}

export async function writeSavedCommits(place: CommitPlace, commits: readonly SavedCommit[]): Promise<string> {
  const path = commitPath(place);
  const folder = commitFolder(place);
  await attempting(
    { action: "create the folder", value: folder },
    () => Deno.mkdir(folder, { recursive: true, mode: 0o700 }),
  );
  const text = JSON.stringify({ version: 1, commits: commits.slice(-commitsMax) }, null, 2);
  await writeAtomically(path, { disk: realDisk, chunks: [new TextEncoder().encode(`${text}\n`)] });
  return path;
}

/** Null: none. A commit without an answer matches one that came after it. */
export function savedCommitOf(saved: readonly SavedCommit[], committedBlock: number): SavedCommit | null {
  const exact = saved.find((commit) => commit.committedBlock === committedBlock);
  const unanswered = saved.findLast((each) => {
    const afterBlocks = committedBlock - each.sentAfterBlock;
    return each.committedBlock === null && afterBlocks > 0 && afterBlocks <= lifeBlocks;
  });
  return exact ?? unanswered ?? null;
}

const commitFolder = ({ dataFolder }: CommitPlace): string => `${dataFolder}/commits`;

const commitPath = (place: CommitPlace): string =>
  `${commitFolder(place)}/${place.hotkey}-${place.netuid}-${place.mechanism}.json`;
