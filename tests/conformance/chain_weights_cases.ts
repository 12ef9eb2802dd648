/** Setting weights directly: what is stored, and each of the runtime's refusals in its order. */

import { assertEquals } from "@std/assert";
import { conformWeights } from "../../chain/weights/conform.ts";
import { isSameRow, storedRowOf } from "../../chain/weights/stored_row.ts";
import {
  type ChainCase,
  coldkey,
  miner,
  netuid,
  ownerHotkey,
  stranger,
  uids,
  validator,
  weightsCall,
} from "./chain_world.ts";

const fair = { uids: [uids.miner, uids.otherMiner], values: [1, 3] };

export function weightsCases(test: ChainCase): void {
  storingCases(test);
  refusalCases(test);
}

function storingCases(test: ChainCase): void {
  test("weights are stored upscaled, as predicted", {}, async (world) => {
    await world.populate();
    const scores = [{ uid: uids.miner, score: 0.3 }, { uid: uids.otherMiner, score: 1.1 }];
    const conformed = conformWeights(scores, { ownUid: uids.validator, ...await world.chain.parameters() });
    if (!conformed.ok) throw new Error(conformed.detail);
    const block = await world.included(weightsCall(conformed.row), validator);
    const stored = await world.chain.weightsOf({ uid: uids.validator, mechanism: 0 });
    assertEquals(isSameRow(stored, storedRowOf(conformed.row)), true, JSON.stringify(stored));
    assertEquals((await world.neuron(uids.validator)).lastUpdateBlock, block);
    assertEquals(await world.chain.weightsOf({ uid: uids.miner, mechanism: 0 }), []);
  });

  test(
    "each mechanism has its own row and its own rate limit",
    { hyperparameters: { mechanisms: 2 } },
    async (world) => {
      await world.populate();
      await world.included(weightsCall(fair), validator);
      await world.included(weightsCall({ uids: [uids.miner], values: [7] }, 1), validator);
      assertEquals(await world.chain.weightsOf({ uid: uids.validator, mechanism: 0 }), [
        { uid: uids.miner, value: 21_845 },
        { uid: uids.otherMiner, value: 65_535 },
      ]);
      assertEquals(await world.chain.weightsOf({ uid: uids.validator, mechanism: 1 }), [{
        uid: uids.miner,
        value: 65_535,
      }]);
      await world.refused(weightsCall(fair, 2), validator, "MechanismDoesNotExist");
    },
  );

  test("a permit comes with an epoch, not with stake; oneself and the owner need none", {}, async (world) => {
    await world.included({ type: "burnedRegister", netuid, hotkey: validator.address }, coldkey);
    await world.included({ type: "addStake", netuid, hotkey: validator.address, amountRao: 10n ** 12n }, coldkey);
    await world.blocks(3);
    assertEquals((await world.neuron(1)).hasPermit, false);
    await world.refused(weightsCall({ uids: [0], values: [1] }), validator, "NeuronNoValidatorPermit");
    await world.included(weightsCall({ uids: [1], values: [1] }), validator);
    await world.included(weightsCall({ uids: [1], values: [1] }), ownerHotkey);
    await world.epoch();
    assertEquals((await world.neuron(1)).hasPermit, true);
    await world.included(weightsCall({ uids: [0], values: [1] }), validator);
  });

  test("weights can be set once per rate limit, and a refused call does not count", {}, async (world) => {
    await world.populate();
    await world.included(weightsCall(fair), validator);
    await world.refused(weightsCall(fair), validator, "SettingWeightsTooFast");
    await world.refused(weightsCall(fair), validator, "SettingWeightsTooFast");
    await world.included(weightsCall(fair), validator);
  });
}

function refusalCases(test: ChainCase): void {
  test("the row itself must be in order", { hyperparameters: { minAllowedWeights: 2 } }, async (world) => {
    await world.populate();
    const refused = (row: { uids: number[]; values: number[] }, name: string) =>
      world.refused(weightsCall(row), validator, name);
    await refused({ uids: [2, 3], values: [1] }, "WeightVecNotEqualSize");
    await refused({ uids: [0, 1, 2, 3, 4], values: [1, 1, 1, 1, 1] }, "UidsLengthExceedUidsInSubNet");
    await refused({ uids: [2, 2], values: [1, 1] }, "DuplicateUids");
    await refused({ uids: [2, 4], values: [1, 1] }, "UidVecContainInvalidOne");
    await refused({ uids: [2], values: [1] }, "WeightVecLengthIsLow");
    await world.refused(weightsCall(fair), stranger, "HotKeyNotRegisteredInSubNet");
    await world.refused({ ...weightsCall(fair), netuid: 0 } as never, validator, "CanNotSetRootNetworkWeights");
  });

  test("no weight may be above the subnet's limit", { hyperparameters: { maxWeightsLimit: 32_768 } }, async (world) => {
    await world.populate();
    await world.refused(weightsCall(fair), validator, "MaxWeightExceeded");
    await world.included(weightsCall({ uids: [2, 3], values: [5, 5] }), validator);
  });

  test(
    "the version key must not be older than the subnet's",
    { hyperparameters: { weightsVersionKey: 7n } },
    async (world) => {
      await world.populate();
      await world.refused(weightsCall({ ...fair, versionKey: 6n }), validator, "IncorrectWeightVersionKey");
      await world.included(weightsCall({ ...fair, versionKey: 7n }), validator);
    },
  );

  test("stake below the chain's threshold sets no weights", { stakeThresholdRao: 10n ** 9n }, async (world) => {
    await world.populate();
    await world.refused(weightsCall({ uids: [uids.miner], values: [1] }), miner, "NotEnoughStakeToSetWeights");
    await world.included(weightsCall(fair), validator);
  });

  test(
    "a subnet with commit-reveal takes no weights directly",
    { hyperparameters: { isCommitReveal: true } },
    async (world) => {
      await world.populate();
      await world.refused(weightsCall(fair), validator, "CommitRevealEnabled");
      const commit = { type: "commitWeights", netuid, mechanism: 0, hash: new Uint8Array(32) } as const;
      await world.included(commit, validator);
      world.ledger.setHyperparameters(netuid, { isCommitReveal: false });
      await world.blocks(3);
      await world.refused(commit, validator, "CommitRevealDisabled");
    },
  );
}
