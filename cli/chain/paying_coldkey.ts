/**
 * The coldkey that signs for a hotkey: the wallet's, or a development chain's, which //Alice funds
 * (cli/chain/duty/development_chain.ts).
 */

import type { Address, ChainSigner } from "../../chain/call.ts";
import { aliceAddress, raoPerToken } from "../../chain/local/block/genesis.ts";
import type { CommandContext } from "../terminal/command.ts";
import { developmentColdkey, fundFromAlice, isDevelopmentChain } from "./duty/development_chain.ts";
import { warnOfIdlePassword } from "../terminal/options/secret_input.ts";
import { openColdkeySigner } from "../terminal/options/wallet_options.ts";
import { UserError } from "../program/errors.ts";
import { shortAddress, tokens } from "../terminal/text/format.ts";
import type { ChainAccess } from "./chain_access.ts";
import { walletHasColdkey } from "./hotkey_address.ts";

const feeRao = raoPerToken; // for later calls too: with the real chain's prices a call costs 0.000125 tokens

/** The wallet's coldkey asks for its password. */
export async function openPayer(
  context: CommandContext,
  { access: { chain, isPublic, reading }, hotkey }: { access: ChainAccess; hotkey: Address },
): Promise<ChainSigner> {
  if (await reading(isDevelopmentChain(chain, { isPublic }))) {
    const own = developmentColdkey(hotkey);
    const { neurons } = await reading(chain.metagraph());
    const owner = neurons.find((neuron) => neuron.hotkey === hotkey)?.coldkey;
    if (owner === own.address || (owner === undefined && !await walletHasColdkey(context))) {
      warnOfIdlePassword(context, "a coldkey of the development chain pays");
      return own;
    }
  }
  return await openColdkeySigner(context);
}

export async function requireBalance(
  { output }: CommandContext,
  { access: { chain, isPublic, reading }, action, signer, amountRao }: {
    readonly access: ChainAccess;
    readonly action: string;
    readonly signer: ChainSigner;
    readonly amountRao: bigint;
  },
): Promise<void> {
  const { address } = signer;
  const balanceRao = await reading(chain.balanceOf(address));
  if (balanceRao >= amountRao) return;
  let next = `Transfer to the coldkey ${address}`;
  if (address !== aliceAddress && await reading(isDevelopmentChain(chain, { isPublic }))) {
    const why = await fundFromAlice(chain, { account: address, amountRao: amountRao + feeRao });
    if (why === null) {
      output.line(`//Alice, who owns this development chain, has sent ${shortAddress(address)} what was missing`);
      return;
    }
    next += `; //Alice could not: ${why}`;
  }
  throw new UserError(
    `Cannot ${action}: it takes ${tokens(amountRao)} TAO, and the coldkey has ${tokens(balanceRao)}`,
    { next },
  );
}
