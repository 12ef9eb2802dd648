/** Sends a command's call and says how it ended. With --wait-final a call counts only if it is in a final block. */

import type { ChainCall, ChainSigner } from "../../chain/call.ts";
import { callLifeBlocks, ChainError, type Receipt, type Refusal } from "../../chain/chain.ts";
import type { Finality, FinalitySearch } from "../../chain/subtensor/sending/finality.ts";
import { TooSoonError, UserError } from "../program/errors.ts";
import { type ChainAccess, waitForBlock } from "./chain_access.ts";
import { type CommandTo, withWholeCommands } from "./text/chain_words.ts";

/** Final blocks usually lag by two or three. After this many, the call can land in no other block. */
const finalityWaitBlocks = callLifeBlocks + 4;

interface Sending {
  readonly action: string; // for the message: "register the hotkey"
  readonly call: ChainCall;
  readonly signer: ChainSigner;
  readonly isFinalAwaited: boolean;
}

export interface Sent {
  readonly block: number;
  readonly extrinsicHash: string;
  readonly isUnchanged: boolean;
  readonly isFinal: boolean;
}

/** Returns once reads see the call's block. A refusal becomes a UserError with the next step. */
export async function sendCall(access: ChainAccess, sending: Sending): Promise<Sent> {
  const { chain, reading } = access;
  const receipt = await chain.send(sending.call, sending.signer);
  const seen = includedOf(receipt, access, sending);
  if (seen.isUnchanged === true) return { ...seen, isUnchanged: true, isFinal: true };
  const { block, extrinsicHash } = seen;
  if ((await chain.head()).block < block) { // inclusion may be reported before the new head
    const { blockMs } = await reading(chain.parameters());
    await waitForBlock(chain, { block, blockMs });
  }
  const search = chain.finalityOf({ block, extrinsicHash, type: sending.call.type });
  const finality = sending.isFinalAwaited
    ? await untilDecided(access, { search, block, sending })
    : await reading(search.look()).catch(notKnown); // the call itself has succeeded
  if (finality.status === "open") return { block, extrinsicHash, isUnchanged: false, isFinal: false };
  if (finality.status === "undone") throw undoneError(block, sending);
  const final = includedOf(finality.receipt, access, sending); // a fork may have moved it and changed its outcome
  return { block: final.block, extrinsicHash, isUnchanged: false, isFinal: true };
}

async function isReached(chain: ChainAccess["chain"], wanted: { block: number; blockMs: number }): Promise<boolean> {
  try {
    await waitForBlock(chain, wanted);
    return true;
  } catch (error) {
    if (error instanceof ChainError && error.code === "timeout") return false;
    throw error;
  }
}

/** Follows "in block 105". */
export function finalityText({ isFinal }: Pick<Sent, "isFinal">): string {
  return isFinal
    ? ""
    : "\nThe block is not final yet: a fork of the chain can still undo it; --wait-final waits for that";
}

function includedOf(
  receipt: Receipt,
  { commandTo }: ChainAccess,
  { action }: Sending,
): Extract<Receipt, { status: "included" }> {
  if (receipt.status === "included") return receipt;
  if (receipt.status === "refused") throw refusalError(receipt.refusal, { action, commandTo });
  throw new UserError(`Cannot tell whether the chain accepted the call to ${action}: ${receipt.why}`, {
    next: `Check before sending it again: ${commandTo("status")}`,
  });
}

function notKnown(error: unknown): Finality {
  if (error instanceof ChainError) return { status: "open", finalizedBlock: 0 };
  throw error;
}

async function untilDecided(
  { chain, reading, commandTo }: ChainAccess,
  { search, block, sending }: { search: FinalitySearch; block: number; sending: Sending },
): Promise<Finality> {
  const { blockMs } = await reading(chain.parameters());
  for (let wanted = block + 1;; wanted++) {
    const finality = await reading(search.look());
    if (finality.status !== "open") return finality;
    const isStuck = wanted > block + finalityWaitBlocks || !await isReached(chain, { block: wanted, blockMs });
    if (isStuck) {
      throw new TooSoonError(
        `The call to ${sending.action} is in block ${block}, which is not final yet: the newest final block is ` +
          `${finality.finalizedBlock}`,
        { next: `Check later whether the chain still has it: ${commandTo("status")}` },
      );
    }
  }
}

function undoneError(block: number, { action }: Sending): UserError {
  return new TooSoonError(
    `Cannot ${action}: a fork of the chain removed block ${block} with the call, and no final block has it`,
    { next: "Send it again" },
  );
}

/** With complete commands. `isTooSoon`: time alone helps. @default what the refusal says */
export function refusalError(
  { name, sentence, action: remedy, retry }: Refusal,
  options: { readonly action: string; readonly commandTo: CommandTo; readonly isTooSoon?: boolean },
): UserError {
  const { action, commandTo, isTooSoon = retry !== "never" && retry !== "afterUpgrade" } = options;
  const why = /^[A-Z][a-z]/.test(sentence) ? sentence[0]!.toLowerCase() + sentence.slice(1) : sentence;
  const whole = withWholeCommands(remedy, commandTo);
  const next = whole === "none" ? "Try again" : whole[0]!.toUpperCase() + whole.slice(1);
  const message = `Cannot ${action}: ${why} (${name})`;
  return isTooSoon ? new TooSoonError(message, { next }) : new UserError(message, { next });
}
