/** Neurons one by one, with the rows they set: the older of the runtime's two forms of a subnet's state. */

import { keyOf } from "../state/records.ts";
import { metagraph } from "./metagraph_answer.ts";
import type { ReadableChain } from "./readable_chain.ts";

/** By uid; none for a subnet that does not exist. */
export function neuronAnswers(chain: ReadableChain, netuid: number) {
  const all = metagraph(chain, netuid);
  if (all === null) return [];
  return all.hotkeys.map((hotkey, uid) => ({
    hotkey,
    coldkey: all.coldkeys[uid],
    uid,
    netuid,
    active: all.active[uid],
    axonInfo: all.axons[uid],
    prometheusInfo: { block: 0n, version: 0, ip: 0n, port: 0, ipType: 0 },
    stake: [[all.coldkeys[uid], all.totalStake[uid]]],
    rank: 0,
    emission: all.emission[uid],
    incentive: all.incentives[uid],
    consensus: all.consensus[uid],
    trust: 0,
    validatorTrust: chain.state.get("neuron", keyOf(netuid, uid)).validatorTrust,
    dividends: all.dividends[uid],
    lastUpdate: all.lastUpdate[uid],
    validatorPermit: all.validatorPermit[uid],
    weights: chain.state.read("weights", keyOf(netuid, uid)) ?? [],
    bonds: chain.state.read("bonds", keyOf(netuid, uid)) ?? [],
    pruningScore: 0,
  }));
}
