/** Every way a chain can refuse our calls, and the client's message for each. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { AxonAddress, ChainCall } from "../../../chain/call.ts";
import type { Refusal } from "../../../chain/chain.ts";
import type { CallError } from "../../../chain/local/calls/call_error.ts";
import { subtensorErrors } from "../../../chain/local/surface/subtensor_errors.ts";
import { readPoolError } from "../../../chain/subtensor/sending/pool_error.ts";
import { rowsOfCalls } from "../../../chain/subtensor/sending/refusal_rows.ts";
import { dispatchRefusal, invalidated, nonceTaken, poolRefusal } from "../../../chain/subtensor/sending/refusals.ts";
import { RpcError } from "../../../chain/subtensor/connection/rpc_error.ts";
import type { NodeError } from "../../support/chain/chain_fault_proxy.ts";
import { laterErrors, otherCalls, swapErrors } from "../../support/chain/newest_errors.ts";
import { faultTest, netuid, ownerHotkey, payer, stranger, token } from "../../support/chain/chain_fault_world.ts";

const watched = "author_submitAndWatchExtrinsic";
const weightsCall: ChainCall = {
  type: "setWeights",
  netuid,
  mechanism: 0,
  uids: [0],
  values: [65_535],
  versionKey: 0n,
};
const commitCall: ChainCall = { type: "commitWeights", netuid, mechanism: 0, hash: new Uint8Array(32).fill(7) };
const axon: AxonAddress = { ip: "203.0.113.7", port: 8091, protocol: 4, version: 1 };
const serveCall = (change: Partial<AxonAddress> = {}): ChainCall => ({
  type: "serveAxon",
  netuid,
  axon: { ...axon, ...change },
});

/** What this chain answers itself. */
const localErrors = [
  ...["FundsUnavailable", "BelowMinimum", "SubnetNotExists", "MechanismDoesNotExist"],
  ...["RegistrationNotPermittedOnRootSubnet", "SubNetRegistrationDisabled", "HotKeyAlreadyRegisteredInSubNet"],
  ...["RegistrationPriceLimitExceeded", "SubtokenDisabled"],
  ...["NotEnoughBalanceToStake", "NonAssociatedColdKey", "NoNeuronIdAvailable", "NetworkTxRateLimitExceeded"],
  ...["SubnetLimitReached", "CannotAffordLockCost", "AmountTooLow", "HotKeyAccountNotExists"],
  ...["NotEnoughStakeToWithdraw", "HotKeyNotRegisteredInNetwork", "InvalidIpType", "InvalidIpAddress"],
  ...["ServingRateLimitExceeded", "InvalidPort", "CanNotSetRootNetworkWeights", "CommitRevealEnabled"],
  ...["CommitRevealDisabled", "WeightVecNotEqualSize", "UidsLengthExceedUidsInSubNet", "HotKeyNotRegisteredInSubNet"],
  ...["NotEnoughStakeToSetWeights", "IncorrectWeightVersionKey", "SettingWeightsTooFast", "CommittingWeightsTooFast"],
  ...["NeuronNoValidatorPermit", "DuplicateUids", "UidVecContainInvalidOne", "WeightVecLengthIsLow"],
  ...["MaxWeightExceeded", "TooManyUnrevealedCommits", "IncorrectCommitRevealVersion", "InvalidRevealRound"],
  ...["NoWeightsCommitFound", "ExpiredWeightCommit", "RevealTooEarly", "InvalidRevealCommitHashNotMatch"],
] as const satisfies readonly CallError[];

/** Complete: fails to compile when the list above misses one. */
type Missing = Exclude<CallError, typeof localErrors[number]>;
const missing: readonly Missing[] = [] satisfies readonly never[];

/** What only the real runtime answers to calls of ours. */
const realErrors = [
  ...["RootNetworkDoesNotExist", "NotEnoughStake", "BalanceWithdrawalError", "ZeroBalanceAfterWithdrawn"],
  ...["TooManyRegistrationsThisBlock", "TooManyRegistrationsThisInterval", "StakingRateLimitExceeded"],
  ...["StakeTooLowForRoot", "AllNetworksInImmunity", "TxRateLimitExceeded", "CannotUnstakeLock", "InputLengthsUnequal"],
  ...["InsufficientLiquidity", "SlippageTooHigh", "CallDisabled", "InsufficientBalance"],
  ...["StakingOperationRateLimitExceeded", "AdminActionProhibitedDuringWeightsWindow", "Deprecated"],
  ...["ColdkeySwapAnnounced", "ColdkeySwapDisputed", "DisabledTemporarily", "TransactorAccountShouldBeHotKey"],
  ...["ZeroMaxStakeAmount", "PrecisionLoss", "Overflow", "TransferDisallowed"],
];

/** Of the system, the token and the balances. */
const frameErrors = ["BadOrigin", "CallFiltered", "Expendability", "ExistentialDeposit", "Token"];

const callTypes = Object.keys(rowsOfCalls) as ChainCall["type"][];

const unknownWords = /this version of iota does not know/;

function assertSaysSomething(refusal: Refusal): void {
  const { name, sentence, action } = refusal;
  assert(!unknownWords.test(sentence), `${name} has a sentence of its own: ${sentence}`);
  assertMatch(sentence, /^[A-Z].{10,}[^.]$/, name);
  assertMatch(action, /^[a-z`].*[^.]$/, name);
}

Deno.test("Refusals: every error that our calls can get has a sentence with a next step", () => {
  assertEquals(missing, []);
  const named = [...subtensorErrors, ...laterErrors].filter((name) => !otherCalls.includes(name));
  for (const name of [...localErrors, ...realErrors, ...named, ...swapErrors, ...frameErrors]) {
    for (const call of callTypes) assertSaysSomething(dispatchRefusal({ name, docs: "words of the chain", call }));
  }
});

Deno.test("Refusals: what re-reading the subnet's rules fixes is retried in the next block", () => {
  for (const name of ["CommitRevealEnabled", "CommitRevealDisabled", "IncorrectCommitRevealVersion"]) {
    assertEquals(dispatchRefusal({ name, docs: "", call: "setWeights" }).retry, "nextBlock", name);
  }
});

Deno.test("Refusals: an error of other calls shows the chain's own words, and is not tried again", () => {
  const known = new Set<string>([...subtensorErrors, ...laterErrors]);
  for (const name of otherCalls) {
    assert(known.has(name), `${name} is an error of the pallet`);
    const refusal = dispatchRefusal({ name, docs: "words of the chain", call: "setWeights" });
    assertEquals([refusal.name, refusal.retry], [name, "never"]);
    assertMatch(refusal.sentence, unknownWords);
    assert(refusal.sentence.includes(name) && refusal.sentence.includes("words of the chain"), refusal.sentence);
    assert(refusal.action.includes("look the name up"));
  }
});

Deno.test("Refusals: a full queue of sealed weights waits for an epoch, and a row too large for it is no matter of time", () => {
  const of = (name: string) => dispatchRefusal({ name, docs: "", call: "commitTimelockedWeights" });
  assertEquals([of("CommitQueueFull").retry, of("CommitPayloadTooLarge").retry], ["afterEpoch", "never"]);
  assertMatch(of("CommitQueueFull").action, /next epoch, or stake more/);
  assertMatch(of("CommitPayloadTooLarge").sentence, /5,000 bytes/);
});

Deno.test("Refusals: an error that no runtime had yet, or that is named like a method, has the same form", () => {
  for (const name of ["Module(7, 250)", "constructor", "toString"]) {
    const { sentence, retry } = dispatchRefusal({ name, docs: "", call: "setWeights" });
    assertMatch(sentence, unknownWords);
    assertEquals(retry, "never");
  }
});

Deno.test("Refusals: every custom code of the pool has a sentence, in each spelling", () => {
  for (const custom of [...Array(28).keys(), 255]) {
    for (const error of spellings(custom)) {
      const pool = readPoolError(error);
      assertEquals(pool, { kind: "custom", custom }, error.message);
      for (const call of callTypes) {
        const refusal = poolRefusal(pool, { words: error.message, call });
        assertEquals(refusal.name, `Custom(${custom})`);
        assertSaysSomething(refusal);
      }
    }
  }
  for (const custom of [28, 99, 254]) {
    const refusal = poolRefusal({ kind: "custom", custom }, { words: "words of the node", call: "setWeights" });
    assertMatch(refusal.sentence, unknownWords);
    assert(refusal.sentence.includes("words of the node"));
  }
});

Deno.test("Refusals: the sentence for a custom code fits its call", () => {
  const codes: readonly [custom: number, call: ChainCall["type"], words: RegExp, action: RegExp][] = [
    [1, "addStake", /amount is below/, /raise the amount/],
    [1, "setWeights", /stake is below the chain's threshold/, /add stake/],
    [1, "commitTimelockedWeights", /stake is below the chain's threshold/, /add stake/],
    [6, "burnedRegister", /interval already has the maximum/, /wait a few minutes/],
    [6, "registerNetwork", /subnet was registered too recently/, /wait/],
    [6, "addStake", /Stake was changed too recently/, /wait/],
    [6, "commitWeights", /last weights are too recent/, /rate limit/],
    [6, "transfer", /last call of this kind/, /wait/],
    [255, "addStake", /subnet that has not been started/, /iota chain params/],
    [255, "serveAxon", /does not accept this address/, /--ip and --port/],
    [255, "setWeights", /chain cannot interpret the call/, /report/],
  ];
  for (const [custom, call, words, action] of codes) {
    const refusal = poolRefusal({ kind: "custom", custom }, { words: "", call });
    assertEquals(refusal.name, `Custom(${custom})`);
    assertMatch(refusal.sentence, words, `${custom} of ${call}`);
    assertMatch(refusal.action, action, `${custom} of ${call}`);
    assertSaysSomething(refusal);
  }
});

Deno.test("Refusals: the sentence for an error in a block fits its call", () => {
  const errors: readonly [name: string, call: ChainCall["type"], words: RegExp, action: RegExp][] = [
    ["NotEnoughBalanceToStake", "burnedRegister", /price of a registration/, /transfer to the coldkey/],
    ["NotEnoughBalanceToStake", "addStake", /cover the amount/, /lower the amount/],
    ["FundsUnavailable", "burnedRegister", /price of a registration/, /transfer to the coldkey/],
    ["FundsUnavailable", "transfer", /cover the amount/, /lower the amount/],
    ["AmountTooLow", "addStake", /below the chain's minimum/, /raise the amount/],
    ["AmountTooLow", "removeStake", /below the chain's minimum/, /take back more/],
    ["SubtokenDisabled", "addStake", /not been started, so it accepts no stake/, /owner starts it/],
    ["SubtokenDisabled", "burnedRegister", /not been started/, /ask the subnet's owner/],
  ];
  for (const [name, call, words, action] of errors) {
    const refusal = dispatchRefusal({ name, docs: "", call });
    assertMatch(refusal.sentence, words, `${name} of ${call}`);
    assertMatch(refusal.action, action, `${name} of ${call}`);
    assertSaysSomething(refusal);
  }
});

Deno.test("Refusals: the pool's other verdicts have sentences", () => {
  const texts: readonly [code: number, message: string, name: string][] = [
    [1010, "Invalid Transaction: Transaction is outdated", "Stale"],
    [1010, '{"invalid":{"stale":null}}', "Stale"],
    [1010, "Invalid Transaction: Transaction will be valid in the future", "Future"],
    [1010, "Invalid Transaction: Transaction has a bad signature", "BadProof"],
    [1010, '{"invalid":"BadProof"}', "BadProof"],
    [1010, "Invalid Transaction: Transaction has an ancient birth block", "AncientBirthBlock"],
    [1010, '{"invalid":{"ancientBirthBlock":null}}', "AncientBirthBlock"],
    [1010, "Invalid Transaction: Inability to pay some fees (e.g. account balance too low)", "Payment"],
    [1010, '{"invalid":{"payment":null}}', "Payment"],
    [1010, "Invalid Transaction: Transaction would exhaust the block limits", "ExhaustsResources"],
    [1010, '{"invalid":{"exhaustsResources":null}}', "ExhaustsResources"],
    [1011, "Unknown Transaction Validity", "Other"],
    [1012, "Transaction is temporarily banned", "Banned"],
    [1013, "Transaction Already Imported", "AlreadyImported"],
    [1014, "Priority is too low: (0 vs 0)", "LowPriority"],
    [1016, "Immediately Dropped", "Dropped"],
  ];
  for (const [code, message, name] of texts) {
    const refusal = poolRefusal(readPoolError(new RpcError(code, message, "")), { words: message, call: "setWeights" });
    assertEquals(refusal.name, name, message);
    assertSaysSomething(refusal);
  }
  for (const refusal of [nonceTaken(), invalidated()]) assertSaysSomething(refusal);
});

for (const custom of [6, 12]) {
  for (const { code, text, data } of spellings(custom)) {
    faultTest(`rate limit ${custom} of the pool waits for the limit: ${text} ${data}`, {}, async (world) => {
      const error: NodeError = data === "" ? { code, message: text } : { code, message: text, data };
      world.proxy.next(watched, { type: "refuse", error });
      const { name, retry } = await world.refusal(weightsCall, ownerHotkey);
      assertEquals([name, retry, world.proxy.extrinsics.length], [`Custom(${custom})`, "afterRateLimit", 1]);
    });
  }
}

faultTest(
  "weights set or committed too fast are refused in their block, and may come after the limit",
  {},
  async (world) => {
    assertEquals((await world.deliver(weightsCall, ownerHotkey)).status, "included");
    assertEquals(briefly(await world.refusal(weightsCall, ownerHotkey)), ["SettingWeightsTooFast", "afterRateLimit"]);
    world.ledger.setHyperparameters(netuid, { isCommitReveal: true, weightsRateLimitBlocks: 2 });
    await world.mine();
    assertEquals((await world.deliver(commitCall, ownerHotkey)).status, "included");
    const tooFast = await world.refusal(commitCall, ownerHotkey);
    assertEquals(briefly(tooFast), ["CommittingWeightsTooFast", "afterRateLimit"]);
    assertEquals((await world.deliver(commitCall, ownerHotkey)).status, "included"); // a refused call did not restart the limit
  },
);

faultTest("weights for an older version of the subnet are refused for good", {}, async (world) => {
  world.ledger.setHyperparameters(netuid, { weightsVersionKey: 7n });
  await world.mine();
  const refusal = await world.refusal(weightsCall, ownerHotkey);
  assertEquals(briefly(refusal), ["IncorrectWeightVersionKey", "never"]);
  assertMatch(refusal.action, /update iota/);
  assertEquals(world.proxy.extrinsics.length, 1);
});

faultTest(
  "weights without a permit wait for an epoch",
  { genesis: { hyperparameters: { weightsRateLimitBlocks: 0 } } },
  async (world) => {
    const registered = await world.deliver({ type: "burnedRegister", netuid, hotkey: stranger.address }, payer);
    assertEquals(registered.status, "included");
    assertEquals(briefly(await world.refusal(weightsCall, stranger)), ["NeuronNoValidatorPermit", "afterEpoch"]);
  },
);

faultTest(
  "an axon that the chain already has is not announced again, nor an unreachable one",
  {},
  async (world) => {
    const first = await world.deliver(serveCall(), ownerHotkey);
    assertEquals(first.status, "included");
    await world.mine();
    const again = await world.chain.send(serveCall(), ownerHotkey);
    assertEquals(again, { status: "included", block: 1, extrinsicHash: "", isUnchanged: true });
    for (const ip of ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "255.255.255.255", "example.org"]) {
      const refusal = await world.refusal(serveCall({ ip }), ownerHotkey);
      assertEquals([ip, ...briefly(refusal)], [ip, "Custom(11)", "never"]);
    }
    for (const port of [0, -1, 65_536, 80.5]) {
      assertEquals(briefly(await world.refusal(serveCall({ port }), ownerHotkey)), ["Custom(13)", "never"]);
    }
    assertEquals(world.proxy.extrinsics.length, 1);
    const tooSoon = await world.refusal(serveCall({ port: 8092 }), ownerHotkey);
    assertEquals(briefly(tooSoon), ["ServingRateLimitExceeded", "afterRateLimit"]);
    await world.mine();
    assertEquals((await world.deliver(serveCall({ port: 8092 }), ownerHotkey)).status, "included");
  },
);

faultTest(
  "an older runtime's pool refuses an axon announced too soon by number",
  { genesis: { epochs: "legacy" } },
  async (world) => {
    assertEquals((await world.deliver(serveCall(), ownerHotkey)).status, "included");
    assertEquals(briefly(await world.refusal(serveCall({ port: 8092 }), ownerHotkey)), [
      "Custom(12)",
      "afterRateLimit",
    ]);
  },
);

faultTest(
  "a call that fails inside its block gives the reason, and stays refused once found in the block",
  {},
  async (world) => {
    world.proxy.next(watched, { type: "dropAnswer" });
    const tooMuch: ChainCall = { type: "transfer", to: stranger.address, amountRao: 10n ** 9n * token };
    assertEquals(briefly(await world.refusal(tooMuch)), ["FundsUnavailable", "never"]);
  },
);

const briefly = ({ name, retry }: Refusal): [string, string] => [name, retry];

/** As nodes write a custom code. */
function spellings(custom: number): RpcError[] {
  return [
    new RpcError(1010, "Invalid Transaction", `Custom error: ${custom}`),
    new RpcError(1010, `Invalid Transaction: Custom error: ${custom}`, ""),
    new RpcError(1010, `{"invalid":{"custom":${custom}}}`, ""),
    new RpcError(1010, `{"invalid":{"Custom":${custom}}}`, ""),
    new RpcError(1010, "Invalid Transaction", `Custom(${custom})`),
  ];
}
