/**
 * A private chain whose subnet belongs to the development account //Alice: nothing has to be prepared there.
 *
 * Alice's key is public, so nothing on such a chain has value. Alice registers unregistered nodes and gives validators
 * stake; an orchestrator that Alice registered counts as the owner's, so nodes trust its announcement. On any other
 * chain this does nothing: there a person's coldkey pays.
 */

import type { ChainCall } from "../../chain/call.ts";
import type { Chain } from "../../chain/chain.ts";
import { aliceAddress, raoPerToken } from "../../chain/local/genesis.ts";
import { keyOfSecretUri } from "../../chain/wallet/secret_uri.ts";
import { present } from "../../core/assert.ts";

const validatorStakeRao = 1_000n * raoPerToken;

export interface Enrolment {
  readonly hotkey: string;
  readonly isValidator: boolean;
  readonly isPublic: boolean; // a public chain: //Alice owns nothing there
  readonly say: (text: string) => void;
}

/** Returns when the hotkey is registered, or nothing can be done for it here; null: nothing to wait for. */
export async function enrolOnDevelopmentChain(chain: Chain, enrolment: Enrolment): Promise<string | null> {
  const { hotkey, isValidator, isPublic, say } = enrolment;
  if (isPublic || (await chain.parameters()).ownerHotkey !== aliceAddress) return null;
  const { neurons } = await chain.metagraph();
  const own = neurons.find((neuron) => neuron.hotkey === hotkey);
  if (own === undefined) {
    const why = await send(chain, { type: "burnedRegister", netuid: chain.netuid, hotkey });
    if (why !== null) return `this chain's //Alice cannot register this hotkey: ${why}`;
    say(`Registered on subnet ${chain.netuid}: //Alice, who owns this development chain, has paid`);
  }
  if (!isValidator || own?.hasPermit === true) return null;
  if (own === undefined || own.stakeRao === 0n) {
    const why = await send(chain, {
      ...{ type: "addStake", netuid: chain.netuid, hotkey, amountRao: validatorStakeRao } as const,
    });
    if (why !== null) return `this chain's //Alice cannot stake for this hotkey: ${why}`;
    say(`//Alice has staked ${validatorStakeRao / raoPerToken} TAO for this validator`);
  }
  return "waiting for this validator's permit, which the next epoch gives";
}

/** Null: the call is in a block. */
async function send(chain: Chain, call: ChainCall): Promise<string | null> {
  const alice = present(keyOfSecretUri("//Alice"), "//Alice is a key").pair;
  const receipt = await chain.send(call, alice);
  if (receipt.status === "included") return null;
  if (receipt.status === "unknown") return receipt.why;
  return receipt.refusal.name === "HotKeyAlreadyRegisteredInSubNet" ? null : receipt.refusal.sentence;
}
