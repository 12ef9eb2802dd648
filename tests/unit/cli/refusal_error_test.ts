/** What a command says of the chain's refusal, and the code it exits with. */

import { assertEquals } from "@std/assert";
import type { ChainCall } from "../../../chain/call.ts";
import { dispatchRefusal, poolRefusal } from "../../../chain/subtensor/sending/refusals.ts";
import { refusalError } from "../../../cli/chain/send_call.ts";

const commandTo = (words: string): string => `iota chain ${words}`;

Deno.test("Exit codes: what time alone repairs is 75, what is wrong is 1", () => {
  const codeOf = (name: string, call: ChainCall["type"] = "setWeights") =>
    refusalError(dispatchRefusal({ name, docs: "", call }), { action: "do it", commandTo }).exitCode;
  for (
    const name of [
      ...["SettingWeightsTooFast", "CommittingWeightsTooFast", "RevealTooEarly", "TooManyUnrevealedCommits"],
      ...["ServingRateLimitExceeded", "TooManyRegistrationsThisInterval", "TooManyRegistrationsThisBlock"],
      ...["StakingRateLimitExceeded", "AdminActionProhibitedDuringWeightsWindow", "CommitQueueFull"],
    ]
  ) assertEquals(codeOf(name), 75, name);
  for (
    const name of [
      ...["NotEnoughStakeToSetWeights", "HotKeyNotRegisteredInSubNet", "IncorrectWeightVersionKey", "DuplicateUids"],
      ...["NotEnoughBalanceToStake", "CommitPayloadTooLarge", "CallDisabled", "NoSuchError"],
    ]
  ) assertEquals(codeOf(name), 1, name);
});

Deno.test("Next steps: a refusal's command names the chain that refused", () => {
  const refusal = poolRefusal({ kind: "custom", custom: 255 }, { words: "", call: "addStake" });
  const error = refusalError(refusal, {
    action: "add stake",
    commandTo: (words) => `iota chain ${words} --endpoint local`,
  });
  assertEquals(error.next, "Check whether it has been started: iota chain params --endpoint local");
});
