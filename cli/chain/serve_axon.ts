/**
 * `iota chain serve`: announces an axon once. Unlike the chain's error, says how long to wait after a recent
 * announcement.
 */

import type { Address, AxonAddress } from "../../chain/call.ts";
import { ipOfText } from "../../chain/ip_address.ts";
import { axonProblem } from "../../chain/subtensor/reads/axon_address.ts";
import type { CommandContext } from "../terminal/command.ts";
import { TooSoonError, UsageError } from "../program/errors.ts";
import { plural } from "../terminal/text/format.ts";
import { type ChainAccess, registeredNeuron, withChain } from "./chain_access.ts";
import { finalityText, sendCall } from "./send_call.ts";
import { inBlocks } from "./text/chain_words.ts";
import { signingHotkey } from "./hotkey_address.ts";
import { axonText } from "./text/neuron_table.ts";

const protocol = 4; // as in Bittensor's SDK
const axonVersion = 1;
const action = "announce the axon";

export async function serveAxon(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const ip = options.text("ip"), port = options.number("port");
  if (ip === undefined || port === undefined) {
    throw new UsageError("Announcing an axon needs both --ip and --port", {
      next: "See iota help chain serve",
    });
  }
  const axon = { ip, port, protocol, version: axonVersion };
  requireAxon(axon);
  const signer = await signingHotkey(context);
  return await withChain(context, async (access) => {
    const { chain, netuid, reading, commandTo } = access;
    const hotkey = signer.address;
    const { neurons } = await reading(chain.metagraph());
    const own = registeredNeuron(neurons, { action, hotkey, netuid, commandTo });
    if (!isSameAxon(own.axon, axon)) await requirePause(access, hotkey);
    const sent = await sendCall(access, {
      action,
      signer,
      isFinalAwaited: options.flag("wait-final"),
      call: { type: "serveAxon", netuid, axon },
    });
    const { uid } = own;
    const { block, isUnchanged, isFinal } = sent;
    output.answer(
      { netuid, hotkey, uid, ip, port, block, isUnchanged, isFinal },
      isUnchanged
        ? `The chain has ${axonText(axon)} for uid ${uid} since block ${block}: nothing was sent`
        : `uid ${uid} of subnet ${netuid} is announced at ${axonText(axon)}, block ${block}` + finalityText(sent),
    );
    return 0;
  });
}

/** The chain would not say why it takes no such address. */
function requireAxon(axon: AxonAddress): void {
  if (axonProblem(axon) !== "InvalidIpAddress") return;
  const rule = ipOfText(axon.ip) === null
    ? "must be an IPv4 or IPv6 address"
    : "must not be a loopback, zero or broadcast address";
  throw new UsageError(`Cannot ${action}: --ip ${rule}, but is '${axon.ip}'`, {
    next: "Pass the address under which others reach this machine, for example: --ip 203.0.113.7",
  });
}

function isSameAxon(known: AxonAddress | null, axon: AxonAddress): boolean {
  const fields = ["ip", "port", "protocol", "version"] as const;
  return known !== null && fields.every((name) => known[name] === axon[name]);
}

async function requirePause({ chain, netuid, reading }: ChainAccess, hotkey: Address): Promise<void> {
  const [lastBlock, { servingRateLimitBlocks, blockMs }, { block }] = await reading(
    Promise.all([chain.announcementBlockOf(hotkey), chain.parameters(), chain.head()]),
  );
  if (lastBlock === null) return;
  const allowedBlock = lastBlock + servingRateLimitBlocks;
  if (block + 1 >= allowedBlock) return; // it lands in the next block
  const rule = `subnet ${netuid} accepts an announcement every ${plural(servingRateLimitBlocks, "block")}`;
  throw new TooSoonError(`Cannot ${action}: ${rule}, and the last one is ${plural(block - lastBlock, "block")} old`, {
    next: `Try again ${inBlocks(allowedBlock - 1 - block, blockMs)}`,
  });
}
