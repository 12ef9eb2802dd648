/**
 * What every `Chain` promises, run by chain_local_test.ts (in process) and wherever a client talks to the ledger over JSON-RPC.
 *
 * `connect` joins an implementation to a ledger; the cases are in the files beside this one.
 */

import { callCases } from "./chain_call_cases.ts";
import { commitmentCases } from "./chain_commitment_cases.ts";
import { epochCases } from "./chain_epoch_cases.ts";
import { revealCases } from "./chain_reveal_cases.ts";
import { weightsCases } from "./chain_weights_cases.ts";
import { ChainWorld, type ConnectChain } from "./chain_world.ts";

export function chainSuite(name: string, connect: ConnectChain): void {
  for (const cases of [callCases, commitmentCases, weightsCases, epochCases, revealCases]) {
    cases((behaviour, options, body) => {
      Deno.test(`Chain (${name}): ${behaviour}`, async () => {
        const world = await ChainWorld.open(connect, options);
        try {
          await body(world);
        } finally {
          await world.close();
        }
      });
    });
  }
}
