/**
 * `iota chain weights --set`: sends a row of weights in the mode that the subnet requires, and checks that it arrived.
 * No call is sent that is known to be refused, and a salt is on disk before its commit is sent.
 */

import type { ChainCall } from "../../chain/call.ts";
import { readView } from "../../chain/duty/read_view.ts";
import { nextEpochBlock, revealRound } from "../../chain/epochs/epochs.ts";
import { type Beacon, roundAt } from "../../chain/timelock/beacon.ts";
import type { HotkeyPair } from "../../chain/wallet/hotkey.ts";
import { conformWeights } from "../../chain/weights/conform.ts";
import { saltedCommitHash } from "../../chain/weights/salted_commit.ts";
import { isSameRow, storedRowOf } from "../../chain/weights/stored_row.ts";
import { systemRandom } from "../../net/timers.ts";
import type { CommandContext } from "../terminal/command.ts";
import { TooSoonError, UserError } from "../program/errors.ts";
import { plural } from "../terminal/text/format.ts";
import { type ChainAccess, registeredNeuron, waitForBlock, withChain } from "./chain_access.ts";
import { finalityText, refusalError, sendCall } from "./send_call.ts";
import { inBlocks } from "./text/chain_words.ts";
import { signingHotkey } from "./hotkey_address.ts";
import { type WeightsMode, weightsModeOf } from "./text/parameter_text.ts";
import { type CommitPlace, readSavedCommits, type SavedCommit, writeSavedCommits } from "./saved_commits.ts";
import { type GivenWeight, placeWeights } from "./weight_scores.ts";
import { hindranceOf, type PlannedWeights } from "./weights_preflight.ts";

const action = "set weights";
const waitsMax = 3; // a permit, the rate limit, and a late epoch

interface WeightsOrder {
  readonly weights: readonly GivenWeight[];
  readonly isFromFile: boolean; // then hotkeys may be missing from the subnet
}

interface Scene {
  readonly context: CommandContext;
  readonly access: ChainAccess;
  readonly signer: HotkeyPair;
  readonly mechanism: number;
}

export async function setWeights(context: CommandContext, order: WeightsOrder): Promise<number> {
  const signer = await signingHotkey(context);
  const mechanism = context.options.number("mechanism") ?? 0;
  return await withChain(context, async (access) => {
    const scene: Scene = { context, access, signer, mechanism };
    const planned = await readyWeights(scene, order);
    const mode = modeOf(scene, planned);
    const fields = {
      ...{ netuid: access.netuid, hotkey: signer.address, uid: planned.own.uid, mechanism, mode },
      weights: planned.row.uids.length,
    };
    if (mode === "plain") await sendPlain(scene, { planned, fields });
    else if (mode === "timelocked") await sendTimelocked(scene, { planned, fields });
    else await sendSalted(scene, { planned, fields });
    return 0;
  });
}

interface Passage {
  readonly planned: PlannedWeights;
  readonly fields: { readonly netuid: number; readonly uid: number; readonly weights: number };
}

async function readyWeights(scene: Scene, order: WeightsOrder): Promise<PlannedWeights> {
  const { context: { options, output }, access: { chain, reading, commandTo } } = scene;
  for (let waits = 0;; waits++) {
    const planned = await planWeights(scene, order);
    const hindrance = hindranceOf(planned);
    if (hindrance === null) return planned;
    const { refusal, untilBlock } = hindrance;
    if (!options.flag("wait") || untilBlock === null || waits === waitsMax) {
      throw refusalError(refusal, { action, commandTo, isTooSoon: untilBlock !== null });
    }
    const { block } = await reading(chain.head());
    const { blockMs } = planned.view.parameters;
    output.log.info(`waiting for block ${untilBlock}, ${inBlocks(untilBlock - block, blockMs)}: ${refusal.sentence}`);
    await waitForBlock(chain, { block: untilBlock, blockMs });
  }
}

async function planWeights(
  { context: { options, output }, access: { chain, netuid, reading, commandTo }, signer, mechanism }: Scene,
  { weights, isFromFile }: WeightsOrder,
): Promise<PlannedWeights> {
  const hotkey = signer.address;
  const view = await reading(readView(chain, { hotkey, mechanism }));
  const own = registeredNeuron(view.metagraph.neurons, { action, hotkey, netuid, commandTo });
  const { scores, missing } = placeWeights(weights, view.metagraph.neurons);
  if (missing.length > 0) {
    const all = missing.join(", ");
    if (!isFromFile) {
      throw new UserError(`Cannot ${action}: not in subnet ${netuid}: ${all}`, {
        next: `See who is: ${commandTo("metagraph")}`,
      });
    }
    output.log.warn(
      `Left out ${plural(missing.length, "hotkey")} of the file, as they are not in subnet ${netuid}: ${all}`,
    );
  }
  const conformed = conformWeights(scores, { ownUid: own.uid, ...view.parameters });
  if (!conformed.ok) throw new UserError(`Cannot ${action}: ${conformed.detail}`, { next: "Change the weights given" });
  const given = options.text("version-key");
  const versionKey = given === undefined ? view.parameters.weightsVersionKey : BigInt(given);
  return { view, own, row: conformed.row, mechanism, versionKey };
}

function modeOf({ context: { options } }: Scene, { view: { parameters } }: PlannedWeights): WeightsMode {
  const mode = weightsModeOf(parameters);
  if (!options.flag("salted")) return mode;
  if (mode !== "plain") return "salted";
  throw new UserError(
    "Cannot commit with a salt: the subnet does not use commit-reveal, it accepts weights openly",
    {
      next: "Leave --salted out",
    },
  );
}

async function sendPlain({ context, access, signer, mechanism }: Scene, { planned, fields }: Passage): Promise<void> {
  const { chain, netuid, reading } = access;
  const { row, versionKey, own } = planned;
  const call: ChainCall = { type: "setWeights", netuid, mechanism, ...row, versionKey };
  const sent = await sendCall(access, { action, signer, call, isFinalAwaited: context.options.flag("wait-final") });
  const { block, isFinal } = sent;
  const stored = await reading(chain.weightsOf({ uid: own.uid, mechanism }));
  const isRowChecked = isSameRow(stored, storedRowOf(row));
  if (!isRowChecked) {
    context.output.log.warn("The chain already holds another row: is another program using this hotkey?");
  }
  context.output.answer(
    { ...fields, block, isFinal, isRowChecked },
    `${setText(fields)} set in block ${block}${isRowChecked ? " and read back" : ""}${finalityText(sent)}`,
  );
}

/**
 * When a commit made now is revealed. Right before an epoch it may be too soon for the beacon; --wait then takes the
 * next epoch.
 */
async function nextReveal(
  { context: { options, output }, access: { chain, reading } }: Scene,
  { planned: { view: { parameters } }, beacon }: { planned: PlannedWeights; beacon: Beacon },
): Promise<{ round: bigint; block: number }> {
  const { revealPeriodEpochs, blockMs } = parameters;
  for (let waits = 0;; waits++) {
    const [epoch, head] = await reading(Promise.all([chain.epochState(), chain.head()]));
    const headSeenMs = head.seenMs + (epoch.block - head.block) * blockMs;
    const reveal = revealRound({ state: epoch, revealPeriodEpochs, headSeenMs, blockMs, beacon });
    const epochBlock = nextEpochBlock(epoch);
    if (!reveal.ok || epochBlock === null) {
      throw new UserError(`Cannot ${action}: they are revealed in an epoch, and the subnet runs none soon`, {
        next: "Ask the subnet's owner: the tempo is 0 or the reveal period is too long",
      });
    }
    if (reveal.value.round >= roundAt(beacon, headSeenMs + beacon.periodMs)) return reveal.value;
    const tooSoon = `a timelock must outlast a drand round of ${beacon.periodMs / 1_000} s`;
    if (!options.flag("wait") || waits === waitsMax) {
      const blocks = reveal.value.block - epoch.block;
      throw new TooSoonError(`Cannot ${action}: ${tooSoon}, and this subnet reveals ${inBlocks(blocks, blockMs)}`, {
        next:
          "Try again after the next epoch (--wait does), commit with a salt (--salted), or run a chain with longer epochs",
      });
    }
    output.log.info(`waiting for block ${epochBlock}, ${inBlocks(epochBlock - epoch.block, blockMs)}: ${tooSoon}`);
    await waitForBlock(chain, { block: epochBlock, blockMs });
  }
}

async function sendTimelocked(scene: Scene, { planned, fields }: Passage): Promise<void> {
  const { context, access, signer, mechanism } = scene;
  const { chain, netuid, reading } = access;
  const { row, versionKey, view: { parameters: { blockMs, commitRevealVersion } } } = planned;
  const { beacon } = await reading(chain.facts());
  const { round, block: revealBlock } = await nextReveal(scene, { planned, beacon });
  const { sealedCall } = await import("../../chain/duty/sealed_call.ts");
  const { timelockRandomBytes } = await import("../../chain/timelock/timelock.ts");
  const call = sealedCall(
    {
      ...{ type: "sealAndSend", attempt: 1, row, versionKey: String(versionKey) },
      ...{ revealRound: String(round), commitRevealVersion },
    },
    { netuid, mechanism, publicKey: signer.publicKey, beacon, random: systemRandom.bytes(timelockRandomBytes) },
  );
  const sent = await sendCall(access, { action, signer, call, isFinalAwaited: context.options.flag("wait-final") });
  const { block, isFinal } = sent;
  const revealBlocks = Math.max(0, revealBlock - block);
  context.output.answer(
    { ...fields, block, isFinal, revealRound: String(round), revealBlock, revealInMs: revealBlocks * blockMs },
    `${setText(fields)} committed in block ${block}\n` +
      `The chain reveals them ${inBlocks(revealBlocks, blockMs)}, at block ${revealBlock} (drand round ${round})${
        finalityText(sent)
      }`,
  );
}

async function sendSalted(scene: Scene, { planned, fields }: Passage): Promise<void> {
  const { context, access, signer, mechanism } = scene;
  const { chain, netuid, reading } = access;
  const { row, versionKey, view: { parameters } } = planned;
  const place: CommitPlace = { dataFolder: context.dataFolder(), hotkey: signer.address, netuid, mechanism };
  const before = await readSavedCommits(place);
  const salt = [...new Uint16Array(systemRandom.bytes(32).buffer as ArrayBuffer)];
  const { block: sentAfterBlock } = await reading(chain.head());
  const saved: SavedCommit = {
    ...{ sentAfterBlock, committedBlock: null, versionKey: String(versionKey) },
    ...{ uids: [...row.uids], values: [...row.values], salt },
  };
  const saltFile = await writeSavedCommits(place, [...before, saved]);
  const hash = saltedCommitHash({ publicKey: signer.publicKey, netuid, mechanism, row, salt, versionKey });
  const sent = await sendCall(access, {
    action,
    signer,
    isFinalAwaited: context.options.flag("wait-final"),
    call: { type: "commitWeights", netuid, mechanism, hash },
  });
  const { block, isFinal } = sent;
  // A fork may move a commit, so its block is saved only once final.
  if (isFinal) await writeSavedCommits(place, [...before, { ...saved, committedBlock: block }]);
  const commits = await reading(chain.pendingCommits({ hotkey: signer.address, mechanism }));
  const revealFromBlock = commits.find(({ committedBlock }) => committedBlock === block)?.revealFromBlock ?? null;
  const { blockMs } = parameters;
  const when = revealFromBlock === null
    ? "in a later epoch"
    : `${inBlocks(revealFromBlock - block, blockMs)}, from block ${revealFromBlock} on`;
  context.output.answer(
    { ...fields, block, isFinal, revealFromBlock, saltFile },
    `${setText(fields)} committed in block ${block}\n` +
      `Reveal them ${when}, within one epoch: ${access.commandTo("commit --reveal")}\n` +
      `The salt is in ${saltFile}${finalityText(sent)}`,
  );
}

const setText = ({ weights, uid, netuid }: Passage["fields"]): string =>
  `${plural(weights, "weight")} of uid ${uid} in subnet ${netuid}`;
