/** The work is in cli/chain. */

import type { Command } from "../terminal/command.ts";
import { listenOptions } from "../terminal/options/hub_options.ts";

export const command: Command = {
  name: "chain local",
  summary: "run your own chain on this machine",
  usage: "chain local [options]",
  about:
    "A whole Subtensor chain in this process, with one subnet, kept in the data folder and served over JSON-RPC. " +
    "@polkadot/api works with it, and so does Bittensor's Python SDK (11.3) for what a neuron needs: registering, staking, serving, " +
    "weights, transfers, the metagraph. Root, proxies, locks, leases and other pallets are missing. The SDK seals commit-reveal " +
    "weights to drand's quicknet instead of this chain's own beacon: they open only if --drand is reachable, and a warning says so " +
    "when they are committed. The development accounts //Alice and //Bob hold plenty of TAO; their keys are public. " +
    "//Alice owns the subnet. It has every node that joins a run there registered, by a coldkey of the node's own " +
    "(//Alice//HOTKEY), as the incentive of the owner's hotkeys is burned, and gives tokens to any coldkey that lacks them.",
  examples: [
    "iota chain local",
    "iota chain local --tempo 10 --block-ms 250",
    "iota chain local --like-mainnet --data runs/rehearsal",
  ],
  recipes: [
    {
      title: "Rehearse a subnet: //Alice pays for the registration",
      lines: [
        "iota chain local &",
        "iota wallet new --name hot",
        "iota chain register --endpoint local --wallet hot",
        "iota chain metagraph --endpoint local",
      ],
    },
  ],
  options: [
    ...listenOptions({ port: 9944 }),
    { name: "netuid", kind: "int", placeholder: "N", min: 1, max: 4095, defaultText: "9", doc: "the subnet" },
    {
      name: "tempo",
      kind: "int",
      placeholder: "BLOCKS",
      min: 1,
      max: 65535,
      defaultText: "20; with --like-mainnet 360",
      doc: "blocks from one epoch to the next",
    },
    {
      name: "block-ms",
      kind: "int",
      placeholder: "MS",
      min: 20,
      max: 3_600_000,
      defaultText: "1000; with --like-mainnet 12000",
      doc: "time from one block to the next",
    },
    { name: "commit-reveal", kind: "boolean", doc: "commit weights first and reveal them later, as on mainnet" },
    {
      name: "like-mainnet",
      kind: "boolean",
      doc: "the real chain's numbers: tempo, rate limits, prices, commit-reveal",
    },
    {
      name: "legacy",
      kind: "boolean",
      doc: "the runtime of spec 393, where epochs follow from the block number; Bittensor's SDK 11 needs a later one",
    },
    {
      name: "drand",
      kind: "string",
      placeholder: "URL",
      defaultText: "https://api.drand.sh",
      doc: "where to fetch quicknet's pulses for weights sealed to it, or none",
    },
    {
      name: "metadata",
      kind: "string",
      placeholder: "FILE",
      doc: "serve this SCALE metadata instead of our own description",
    },
  ],
  rights: { read: "any", write: "any", net: "any", env: "any", sys: ["networkInterfaces"] },
  async run(context) {
    return await (await import("../chain/run_local_chain.ts")).runLocalChain(context);
  },
};
