/**
 * The orchestrator's signing key: the named wallet's, or the run's own hotkey. Invariant: a run keeps its key, the only
 * one its nodes accept.
 */

import type { HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import { createHotkey, hotkeyExists, loadHotkey } from "../../../chain/wallet/hotkey_files.ts";
import { WalletError } from "../../../chain/wallet/wallet_error.ts";
import type { HotkeyPlace } from "../../../chain/wallet/wallet_place.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { UserError } from "../../program/errors.ts";
import { shellWords } from "../../program/shell_words.ts";
import { openHotkeyOf } from "../../terminal/options/wallet_options.ts";
import type { RunPlan } from "./plan_run.ts";

export interface HubKey {
  readonly signer: HotkeyPair;
  /** Null: the run's own key. */
  readonly wallet: HotkeyPlace | null;
}

type KeyPlan = Pick<RunPlan, "folder" | "saved">;

export async function openHubKey(context: CommandContext, plan: KeyPlan): Promise<HubKey> {
  const wallet = context.options.given("wallet") ? context.options.text("wallet") : undefined;
  const key = wallet === undefined ? await openOwnKey(context, plan) : await openWallet(context, { plan, wallet });
  const hub = plan.saved?.hub ?? null;
  const { address } = key.signer;
  if (hub === null || hub === address) return key;
  throw otherKey(plan, wallet === undefined ? `its own key is ${address}` : `wallet ${wallet} has ${address}`);
}

async function openWallet(
  context: CommandContext,
  { plan, wallet }: { plan: KeyPlan; wallet: string },
): Promise<HubKey> {
  try {
    const { pair, place } = await openHotkeyOf(context, wallet);
    return { signer: pair, wallet: place };
  } catch (error) {
    const isMissing = error instanceof UserError && error.cause instanceof WalletError &&
      error.cause.code === "missing";
    if (!isMissing || (plan.saved?.hub ?? null) === null) throw error;
    throw otherKey(plan, error.message);
  }
}

async function openOwnKey(context: CommandContext, plan: KeyPlan): Promise<HubKey> {
  const { path, isResumed } = plan.folder;
  const place = { folder: `${path}/wallets`, wallet: "orchestrator", hotkey: "default" };
  try {
    if (await hotkeyExists(place)) return { signer: await loadHotkey(place), wallet: null };
    if ((plan.saved?.hub ?? null) !== null) throw otherKey(plan, `there is no key in '${place.folder}'`);
    const { pair } = await createHotkey(place);
    if (isResumed) {
      context.output.log.warn(`'${place.folder}' had no orchestrator hotkey; a new one signs from now on`);
    }
    return { signer: pair, wallet: null };
  } catch (error) {
    if (!(error instanceof WalletError)) throw error;
    throw ownKeyError(error);
  }
}

export function ownKeyError(error: WalletError): UserError {
  return new UserError(error.message, { next: ownKeyNext(error), cause: error });
}

function ownKeyNext({ code }: WalletError): string {
  switch (code) {
    case "diskFull":
      return "Free some space, or keep the run on another disk: --data DIR";
    case "unreadable":
      return "Change the folder's permissions, or keep the run in another one: --data DIR";
    default:
      return "Restore the orchestrator's key from a copy, or sign with another one: --wallet NAME";
  }
}

function otherKey({ folder: { path }, saved }: KeyPlan, found: string): UserError {
  const { wallet, hotkey, "wallet-path": folder } = saved?.options ?? {};
  const place = wallet === undefined ? `'${path}/wallets'` : `wallet ${wallet}, hotkey ${hotkey}, in '${folder}'`;
  const again = shellWords(["iota", "orchestrate", "--data", path]);
  return new UserError(
    `Cannot resume the run in '${path}': its nodes accept only the key ${saved?.hub}, ` +
      `and ${found}`,
    {
      next: `That key belongs to ${place}: restore it from a copy if it is missing, name no other wallet, ` +
        `then resume with: ${again}`,
    },
  );
}
