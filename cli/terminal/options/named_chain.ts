/** A node's chain options. */

import { ChainError } from "../../../chain/chain.ts";
import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import type { ChainConfig } from "../../../core/config/config.ts";
import type { CommandContext, OptionSpec } from "../command.ts";
import { UsageError } from "../../program/errors.ts";

export const chainOptions: readonly OptionSpec[] = [
  {
    name: "chain",
    kind: "string",
    placeholder: "NETWORK",
    defaultText: "the chain on which the run was found, or the one that the run names",
    suggestions: ["finney", "test", "local", "none"],
    doc: "finney, test, local, ws://…, or none to stay off the chain",
  },
  {
    name: "netuid",
    kind: "int",
    placeholder: "N",
    min: 1,
    max: 4_095,
    defaultText: "the chain on which the run was found, or the one that the run names",
    doc: "the subnet, with --chain",
  },
];

export type NamedChain = Pick<ChainConfig, "network" | "netuid">;

export const chainWords = ({ network, netuid }: NamedChain): string[] => ["--chain", network, "--netuid", `${netuid}`];

/** Null: the run decides. */
export function givenChain({ options }: CommandContext): NamedChain | null {
  const network = options.text("chain");
  const netuid = options.number("netuid");
  if (network === undefined) {
    if (netuid === undefined) return null;
    throw new UsageError("--netuid needs --chain", {
      next: "For example: --chain finney --netuid 9",
    });
  }
  checkNetwork(network);
  return { network, netuid: netuid ?? 9 };
}

function checkNetwork(network: string): void {
  if (network === "none") return;
  try {
    parseEndpoints(network);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    throw new UsageError(error.message, { next: "For example: --chain finney", cause: error });
  }
}
