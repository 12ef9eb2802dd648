/**
 * Prepares nodes on a private chain of the development account //Alice, whose key is public: nothing there has value.
 *
 * The chain burns the incentive of hotkeys that Alice's coldkey registers, so a coldkey derived from the node's hotkey
 * registers it, with her tokens. She registers only orchestrators, which then count as the owner's, so nodes trust
 * their announcements.
 */

import type { Address, ChainCall, ChainSigner } from "../../../chain/call.ts";
import type { Chain } from "../../../chain/chain.ts";
import { aliceAddress, raoPerToken } from "../../../chain/local/block/genesis.ts";
import { keyOfSecretUri } from "../../../chain/wallet/secret_uri.ts";
import { present } from "../../../core/assert.ts";

export const validatorStakeRao = 1_000n * raoPerToken; // far above a miner's earnings in a rehearsal
const spareRao = raoPerToken; // for the fees of later calls

export const awaitsPermit = "waiting for this validator's permit, which the next epoch gives";

const alice = (): ChainSigner => present(keyOfSecretUri("//Alice"), "//Alice is a key").pair;

const coldkeyUri = (hotkey: Address): string => `//Alice//${hotkey}`;

/** Its key is public, like Alice's. */
export const developmentColdkey = (hotkey: Address): ChainSigner =>
  present(keyOfSecretUri(coldkeyUri(hotkey)), "A path of two names is a key").pair;

export async function isDevelopmentChain(
  chain: Pick<Chain, "parameters">,
  { isPublic }: { isPublic: boolean }, // on a public chain //Alice owns nothing
): Promise<boolean> {
  return !isPublic && (await chain.parameters()).ownerHotkey === aliceAddress;
}

export interface Enrolment {
  readonly hotkey: Address;
  readonly role: "orchestrator" | "miner" | "validator";
  readonly isPublic: boolean;
  readonly say: (text: string) => void;
}

/** Returns what is still missing; null: nothing. */
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

/** //Alice tops the account up to this amount. Null: it has enough. */
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

/** `coldkey`: the hotkey's owner; only its own stake counts. */
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
