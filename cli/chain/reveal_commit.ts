/**
 * `iota chain commit --reveal`: reveals weights committed with a salt.
 *
 * It takes the newest commit whose epoch has come and whose salt is on this machine, and gives up earlier ones.
 */

import type { PendingCommit } from "../../chain/chain.ts";
import { isSameRow, storedRowOf } from "../../chain/weights/stored_row.ts";
import type { CommandContext } from "../terminal/command.ts";
import { TooSoonError, UserError } from "../program/errors.ts";
import { plural } from "../terminal/text/format.ts";
import { type ChainAccess, registeredNeuron, waitForBlock, withChain } from "./chain_access.ts";
import { finalityText, sendCall } from "./send_call.ts";
import { inBlocks } from "./text/chain_words.ts";
import { signingHotkey } from "./hotkey_address.ts";
import { readSavedCommits, savedCommitOf, writeSavedCommits } from "./saved_commits.ts";

const action = "reveal weights";

export async function revealCommit(context: CommandContext): Promise<number> {
  const signer = await signingHotkey(context);
  const hotkey = signer.address;
  const mechanism = context.options.number("mechanism") ?? 0;
  return await withChain(context, async (access) => {
    const { chain, netuid, reading, commandTo } = access;
    const { neurons } = await reading(chain.metagraph());
    const { uid } = registeredNeuron(neurons, { action, hotkey, netuid, commandTo });
    const pending = await reading(chain.pendingCommits({ hotkey, mechanism }));
    const { block: headBlock } = await reading(chain.head());
    const chosen = chooseCommit(pending, { headBlock, commandTo });
    const { committedBlock } = chosen;
    const place = { dataFolder: context.dataFolder(), hotkey, netuid, mechanism };
    const saved = await readSavedCommits(place);
    const commit = savedCommitOf(saved, committedBlock);
    if (commit === null) {
      throw new UserError(
        `Cannot ${action} of block ${committedBlock}: their salt is not in ${place.dataFolder}`,
        { next: "Reveal them on the machine that committed them, or name its data folder: --data DIR" },
      );
    }
    await waitUntilDue(context, access, { commit: chosen, headBlock });
    const { uids, values, salt, versionKey } = commit;
    const sent = await sendCall(access, {
      ...{ action, signer, isFinalAwaited: context.options.flag("wait-final") },
      call: { type: "revealWeights", netuid, mechanism, uids, values, salt, versionKey: BigInt(versionKey) },
    });
    if (sent.isFinal) { // a fork may need the salt again
      await writeSavedCommits(place, saved.filter(({ sentAfterBlock }) => sentAfterBlock > commit.sentAfterBlock));
    }
    const stored = await reading(chain.weightsOf({ uid, mechanism }));
    const isRowChecked = isSameRow(stored, storedRowOf({ uids, values }));
    context.output.answer(
      {
        netuid,
        hotkey,
        uid,
        mechanism,
        weights: uids.length,
        committedBlock,
        block: sent.block,
        isFinal: sent.isFinal,
        isRowChecked,
      },
      `${plural(uids.length, "weight")} of uid ${uid} in subnet ${netuid}, committed in block ${committedBlock}, ` +
        `revealed in block ${sent.block}${isRowChecked ? " and read back" : ""}${finalityText(sent)}`,
    );
    return 0;
  });
}

const isDue = ({ revealFromBlock }: PendingCommit, headBlock: number): boolean =>
  revealFromBlock !== null && revealFromBlock <= headBlock + 1;

/** By the next block; otherwise the oldest. */
function chooseCommit(
  pending: readonly PendingCommit[],
  { headBlock, commandTo }: { readonly headBlock: number } & Pick<ChainAccess, "commandTo">,
): PendingCommit {
  const salted = pending.filter(({ revealRound }) => revealRound === null);
  const chosen = salted.findLast((commit) => isDue(commit, headBlock)) ?? salted[0];
  if (chosen !== undefined) return chosen;
  throw new UserError(`Cannot ${action}: there is no salted commit to reveal`, {
    next: `Timelocked weights are revealed by the chain itself; see what is committed: ${commandTo("commit")}`,
  });
}

async function waitUntilDue(
  { options, output }: CommandContext,
  { chain, reading }: ChainAccess,
  { commit, headBlock }: { commit: PendingCommit; headBlock: number },
): Promise<void> {
  if (isDue(commit, headBlock)) return;
  const { committedBlock, revealFromBlock } = commit;
  const { blockMs } = await reading(chain.parameters());
  const when = revealFromBlock === null ? "in a later epoch" : inBlocks(revealFromBlock - headBlock, blockMs);
  if (revealFromBlock === null || !options.flag("wait")) {
    throw new TooSoonError(
      `Cannot ${action} of block ${committedBlock} yet: their epoch begins ${when}`,
      {
        next: "Wait for it, or add --wait; they can be revealed only in that epoch",
      },
    );
  }
  output.log.info(`waiting for block ${revealFromBlock}, ${when}`);
  await waitForBlock(chain, { block: revealFromBlock - 1, blockMs });
}
