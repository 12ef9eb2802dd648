/**
 * A private chain whose subnet belongs to the development account //Alice: nothing has to be prepared there.
 *
 * Alice's key is public, so nothing on such a chain has value. Each unregistered node is registered by a coldkey of its
 * own, derived from its hotkey and funded by Alice, because the chain burns the incentive of hotkeys that Alice's
 * coldkey registers. Only an orchestrator is registered by Alice: it then counts as the owner's, so nodes trust its
 * announcement. On any other chain this does nothing: there a person's coldkey pays.
 */

import type { Address, ChainCall, ChainSigner } from "../../../chain/call.ts";
import type { Chain } from "../../../chain/chain.ts";
import { aliceAddress, raoPerToken } from "../../../chain/local/block/genesis.ts";
import { keyOfSecretUri } from "../../../chain/wallet/secret_uri.ts";
import { present } from "../../../core/assert.ts";

export const validatorStakeRao = 1_000n * raoPerToken; // far above what any miner earns in a rehearsal
const spareRao = raoPerToken; // of a node's coldkey, for the fees of later calls, such as taking stake back

/** What a staked validator still lacks. */
export const awaitsPermit = "waiting for this validator's permit, which the next epoch gives";

const alice = (): ChainSigner => present(keyOfSecretUri("//Alice"), "//Alice is a key").pair;

const coldkeyUri = (hotkey: Address): string => `//Alice//${hotkey}`;

/** The coldkey that owns a node's hotkey on a development chain. Like Alice's, its key is public. */
export const developmentColdkey = (hotkey: Address): ChainSigner =>
  present(keyOfSecretUri(coldkeyUri(hotkey)), "A path of two names is a key").pair;

export async function isDevelopmentChain(
  chain: Pick<Chain, "parameters">,
  { isPublic }: { isPublic: boolean }, // a public chain: //Alice owns nothing there
): Promise<boolean> {
  return !isPublic && (await chain.parameters()).ownerHotkey === aliceAddress;
}

export interface Enrolment {
  readonly hotkey: Address;
  readonly role: "orchestrator" | "miner" | "validator";
  readonly isPublic: boolean;
  readonly say: (text: string) => void;
}

/** Returns when the hotkey is registered, or nothing can be done for it here; null: nothing to wait for. */
export async function enrolOnDevelopmentChain(chain: Chain, enrolment: Enrolment): Promise<string | null> {
  const { hotkey, role } = enrolment;
  if (!await isDevelopmentChain(chain, enrolment)) return null;
  const { neurons } = await chain.metagraph();
  const own = neurons.find((neuron) => neuron.hotkey === hotkey);
  if (own === undefined) {
    const why = await register(chain, enrolment);
    if (why !== null) return `this development chain's //Alice cannot have this hotkey registered: ${why}`;
  }
  if (role !== "validator" || own?.hasPermit === true) return null;
  if (own === undefined || own.stakeRao === 0n) {
    const why = await stake(chain, { ...enrolment, coldkey: own?.coldkey ?? developmentColdkey(hotkey).address });
    if (why !== null) return why;
  }
  return awaitsPermit;
}

/** Has //Alice transfer what the account lacks of this amount. Null: it has enough. */
export async function fundFromAlice(
  chain: Pick<Chain, "balanceOf" | "send">,
  { account, amountRao }: { account: Address; amountRao: bigint },
): Promise<string | null> {
  const missingRao = amountRao - await chain.balanceOf(account);
  if (missingRao <= 0n || account === aliceAddress) return null;
  return (await send(chain, { type: "transfer", to: account, amountRao: missingRao }, alice()))?.why ?? null;
}

async function register(chain: Chain, enrolment: Enrolment): Promise<string | null> {
  const { hotkey, role, say } = enrolment;
  const { netuid } = chain;
  if (role === "orchestrator") {
    const trouble = await send(chain, { type: "burnedRegister", netuid, hotkey }, alice());
    if (trouble === null) say(`Registered on subnet ${netuid}: //Alice, who owns this development chain, has paid`);
    return trouble?.why ?? null;
  }
  for (let attempt = 1;; attempt++) {
    const trouble = await registerByOwnColdkey(chain, enrolment);
    if (trouble?.name === priceHasRisen && attempt < registrationAttempts) continue;
    if (trouble !== null) return trouble.why;
    say(
      `Registered on subnet ${netuid} by a coldkey of its own, ${coldkeyUri(hotkey)}, ` +
        "with tokens of //Alice, who owns this development chain",
    );
    return null;
  }
}

const priceHasRisen = "NotEnoughBalanceToStake";
const registrationAttempts = 5;
const priceRises = 8n; // nine others that register in the same block raise it this often

async function registerByOwnColdkey(chain: Chain, { hotkey, role }: Enrolment): Promise<Trouble | null> {
  const coldkey = developmentColdkey(hotkey);
  const { registrationCostRao } = await chain.parameters();
  const stakeRao = role === "validator" ? validatorStakeRao : 0n;
  const amountRao = priceRises * registrationCostRao + stakeRao + spareRao;
  const why = await fundFromAlice(chain, { account: coldkey.address, amountRao });
  if (why !== null) return { name: "unfunded", why };
  return await send(chain, { type: "burnedRegister", netuid: chain.netuid, hotkey }, coldkey);
}

/** `coldkey`: the one that owns the hotkey; only its own stake counts for it. */
async function stake(
  chain: Chain,
  { hotkey, coldkey, say }: Enrolment & { readonly coldkey: Address },
): Promise<string | null> {
  const payer = [developmentColdkey(hotkey), alice()].find(({ address }) => address === coldkey);
  const amount = validatorStakeRao / raoPerToken;
  if (payer === undefined) {
    return `waiting for this validator's stake, which its coldkey ${coldkey} adds: ` +
      `\`iota chain stake --amount ${amount}\``;
  }
  const call: ChainCall = { type: "addStake", netuid: chain.netuid, hotkey, amountRao: validatorStakeRao };
  const amountRao = validatorStakeRao + spareRao;
  const why = await fundFromAlice(chain, { account: coldkey, amountRao }) ??
    (await send(chain, call, payer))?.why ?? null;
  if (why !== null) return `this development chain's //Alice cannot pay this validator's stake: ${why}`;
  say(`Staked ${amount} TAO of //Alice's for this validator`);
  return null;
}

interface Trouble {
  readonly name: string; // the chain's, or one of ours
  readonly why: string;
}

/** Null: the call is in a block. */
async function send(chain: Pick<Chain, "send">, call: ChainCall, signer: ChainSigner): Promise<Trouble | null> {
  const receipt = await chain.send(call, signer);
  if (receipt.status === "included") return null;
  if (receipt.status === "unknown") return { name: "unknown", why: receipt.why };
  const { name, sentence: why } = receipt.refusal;
  return name === "HotKeyAlreadyRegisteredInSubNet" ? null : { name, why };
}
