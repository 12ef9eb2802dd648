/**
 * A hotkey's status in a subnet. Waiting: time alone fixes it. Wrong: someone must act. A miner needs no permit, so a
 * missing one is neither.
 */

import type { Address } from "../../chain/call.ts";
import type { Neuron } from "../../chain/chain.ts";
import type { ChainView } from "../../chain/duty/duty.ts";
import { isBurned, isWhole } from "../../chain/duty/epoch_pay.ts";
import { firstAllowedBlock, permitAction } from "../../chain/duty/preflight.ts";
import { type SendWindow, sendWindow } from "../../chain/duty/window.ts";
import { nextEpochBlock } from "../../chain/epochs/epochs.ts";
import { duration, plural, roughly, tokens } from "../terminal/text/format.ts";
import { blocksText, type CommandTo, inBlocks, withWholeCommands } from "./text/chain_words.ts";
import { revealText } from "./text/commit_text.ts";
import { axonText, tokensShort } from "./text/neuron_table.ts";

export interface Finding {
  readonly name: string;
  readonly level: "good" | "waiting" | "wrong" | "plain";
  readonly text: string;
}

export interface StatusFacts {
  readonly hotkey: Address;
  readonly view: ChainView;
  readonly paidRao: bigint | null; // by the last epoch; null: cannot be read
  readonly account: { readonly coldkey: Address; readonly balanceRao: bigint } | null; // null: no coldkey is known
  readonly endpoint: EndpointFacts;
  readonly commandTo: CommandTo;
}

interface EndpointFacts {
  readonly url: string;
  readonly connectMs: number;
  readonly readMs: number;
  readonly headAgeMs: number; // by its author's clock
}

const oldestHeadMs = 60_000;
const oldestHeadBlocks = 6;

export function findingsOf(facts: StatusFacts): Finding[] {
  const { view: { metagraph: { neurons } }, hotkey, commandTo } = facts;
  const own = neurons.find((neuron) => neuron.hotkey === hotkey);
  const standing: Finding[] = own === undefined
    ? [{ name: "registered", level: "wrong", text: `no: ${commandTo("register")}` }]
    : [
      registration(facts, own),
      stake(facts, own),
      ...earned(facts, own),
      permit(facts, own),
      activity(facts, own),
      weights(facts, own),
    ];
  const window = own === undefined || !maySetWeights(facts, own) ? [] : [weightsWindow(facts, own)];
  return [
    ...standing,
    ...commitsOf(facts),
    ...[epoch(facts), ...window],
    ...(own === undefined ? [] : [axon(own)]),
    ...[...balance(facts), node(facts)],
  ];
}

export function levelOf(findings: readonly Finding[]): "good" | "waiting" | "wrong" {
  const has = (level: Finding["level"]) => findings.some((finding) => finding.level === level);
  return has("wrong") ? "wrong" : has("waiting") ? "waiting" : "good";
}

/** The next window for sending weights; null: the subnet runs no epochs. */
export function windowOf({ view: { epoch }, hotkey }: StatusFacts): SendWindow | null {
  return sendWindow(epoch, hotkey);
}

const isOwner = ({ view, hotkey }: StatusFacts): boolean => view.parameters.ownerHotkey === hotkey;
const maySetWeights = (facts: StatusFacts, own: Neuron): boolean => own.hasPermit || isOwner(facts);

function registration({ view: { parameters, metagraph: { block } } }: StatusFacts, own: Neuron): Finding {
  const { immunityPeriodBlocks, blockMs } = parameters;
  const immuneBlocks = own.registeredAtBlock + immunityPeriodBlocks - block;
  const immunity = immuneBlocks > 0 ? `immune for ${blocksText(immuneBlocks, blockMs)} more` : "no longer immune";
  return {
    name: "registered",
    level: "good",
    text: `uid ${own.uid} since block ${own.registeredAtBlock}, ${immunity}`,
  };
}

function stake({ view: { parameters: { stakeThresholdRao } } }: StatusFacts, own: Neuron): Finding {
  const text = own.stakeRao === 0n ? "none" : tokens(own.stakeRao);
  if (own.stakeRao >= stakeThresholdRao) return { name: "stake", level: "plain", text };
  const needed = `${text}; setting weights needs ${tokens(stakeThresholdRao)}`;
  return { name: "stake", level: own.hasPermit ? "wrong" : "plain", text: needed };
}

function earned({ view: { parameters }, paidRao }: StatusFacts, own: Neuron): Finding[] {
  const { emissionRao } = own;
  if (emissionRao === 0n) return [];
  const all = tokens(emissionRao);
  const name = "earned";
  if (paidRao === null) return [{ name, level: "plain", text: `${all} allotted; what it was paid cannot be read` }];
  const paid = `${tokens(paidRao)} in the last epoch`;
  if (isWhole({ paidRao, emissionRao })) return [{ name, level: "plain", text: paid }];
  if (!isBurned(own, parameters)) return [{ name, level: "plain", text: `${paid}, of ${all} allotted` }];
  return [{
    name,
    level: "wrong",
    text: `${paid}: its coldkey owns the subnet, ${tokensShort(emissionRao - paidRao)} burned`,
  }];
}

function permit(facts: StatusFacts, own: Neuron): Finding {
  const name = "permit";
  if (own.hasPermit) return { name, level: "good", text: "validator" };
  if (isOwner(facts)) return { name, level: "good", text: "none, and none needed: it is the subnet owner's hotkey" };
  if (own.stakeRao === 0n) return { name, level: "plain", text: "none: without stake a hotkey is a miner's" };
  const { parameters: { blockMs }, metagraph: { block }, epoch } = facts.view;
  const action = withWholeCommands(permitAction(facts.view, own), facts.commandTo);
  const next = nextEpochBlock(epoch);
  if (!action.startsWith("the next epoch") || next === null) return { name, level: "plain", text: `none: ${action}` };
  return { name, level: "waiting", text: `none yet: ${action}, ${inBlocks(next - block, blockMs)}` };
}

function activity({ view: { parameters, metagraph: { block } } }: StatusFacts, own: Neuron): Finding {
  const { activityCutoffBlocks, blockMs } = parameters;
  const name = "activity";
  const leftBlocks = own.lastUpdateBlock + activityCutoffBlocks - block;
  if (!own.hasPermit) return { name, level: "plain", text: own.isActive ? "active" : "inactive" };
  if (own.isActive && leftBlocks > 0) {
    return { name, level: "good", text: `active for ${blocksText(leftBlocks, blockMs)} without new weights` };
  }
  const text = `inactive, as no weights came for ${plural(activityCutoffBlocks, "block")}: set weights`;
  return { name, level: "wrong", text };
}

function weights(facts: StatusFacts, own: Neuron): Finding {
  const { row, commits, metagraph: { block }, parameters: { blockMs } } = facts.view;
  const name = "weights";
  const isUpdated = own.lastUpdateBlock > own.registeredAtBlock; // registration writes the same field
  const age = isUpdated ? `, last sent ${blocksText(block - own.lastUpdateBlock, blockMs)} ago` : "";
  if (row.length > 0) return { name, level: "good", text: `${row.length} in force${age}` };
  if (commits.length > 0) return { name, level: "waiting", text: "none in force before the reveal" };
  if (!maySetWeights(facts, own)) {
    return {
      name,
      level: "plain",
      text: own.stakeRao === 0n ? "none: a miner sets none" : "none: it has no permit",
    };
  }
  return {
    name,
    level: "waiting",
    text: `none in force${age === "" ? "; how to set them: iota help chain weights" : age}`,
  };
}

function commitsOf({ view, commandTo }: StatusFacts): Finding[] {
  return view.commits.map((commit) => {
    const text = `block ${commit.committedBlock}, ${revealText(commit, { ...view, commandTo })}`;
    return { name: "commit", level: "good", text };
  });
}

function epoch({ view }: StatusFacts): Finding {
  const { metagraph: { block }, parameters: { blockMs } } = view;
  const next = nextEpochBlock(view.epoch);
  if (next === null) return { name: "epoch", level: "wrong", text: "none runs, as the subnet's tempo is 0" };
  return { name: "epoch", level: "plain", text: `next ${inBlocks(next - block, blockMs)}, at block ${next}` };
}

function weightsWindow(facts: StatusFacts, own: Neuron): Finding {
  const { view: { metagraph: { block }, parameters } } = facts;
  const { lastUpdateBlock } = own;
  const window = windowOf(facts);
  const name = "window";
  if (window === null) return { name, level: "plain", text: "none" };
  const openBlock = Math.max(window.startBlock, firstAllowedBlock({ lastUpdateBlock, parameters }));
  if (openBlock <= window.landingBlock) {
    return { name, level: "plain", text: `open for a validator's weights until block ${window.endBlock}` };
  }
  return { name, level: "plain", text: `a validator sends weights ${inBlocks(openBlock - block, parameters.blockMs)}` };
}

function axon(own: Neuron): Finding {
  return { name: "axon", level: "plain", text: own.axon === null ? "not announced" : axonText(own.axon) };
}

function balance({ account }: StatusFacts): Finding[] {
  return account === null
    ? []
    : [{ name: "balance", level: "plain", text: `${tokens(account.balanceRao)} TAO (coldkey)` }];
}

function node({ endpoint: { url, readMs, headAgeMs }, view: { parameters: { blockMs } } }: StatusFacts): Finding {
  const isOld = headAgeMs > Math.max(oldestHeadMs, oldestHeadBlocks * blockMs);
  if (!isOld) return { name: "endpoint", level: "good", text: `${url}, answers in ${duration(readMs)}` };
  const text = `its newest block is ${roughly(headAgeMs)} old: try another, or check this clock`;
  return { name: "endpoint", level: "wrong", text };
}
