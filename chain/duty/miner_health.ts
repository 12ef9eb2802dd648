/**
 * A miner's standing in its subnet. A newcomer in a full subnet replaces the non-immune neuron with the least emission.
 */

import type { Address } from "../call.ts";
import type { Chain, Metagraph, Neuron, SubnetParameters } from "../chain.ts";
import { isBurned, payText } from "./epoch_pay.ts";

export interface MinerHealth {
  readonly level: "good" | "waiting" | "alarm";
  readonly sentences: readonly string[]; // most important first
  readonly uid: number | null;
  readonly emissionRao: bigint;
  readonly earnedRao: bigint | null; // in its stake; null: cannot be read
  readonly incentiveShare: number; // of all miners' incentive
  readonly rank: number | null; // from 1; null: no incentive
  readonly ranked: number;
  readonly stakeRao: bigint;
}

interface MinerHealthInput {
  readonly hotkey: Address;
  readonly metagraph: Metagraph;
  readonly parameters: SubnetParameters;
  readonly paidRao: bigint | null;
  readonly support: number | null; // share of validators' stake that weighs it; null: not read
}

const hourMs = 3_600_000;

export function minerHealth(input: MinerHealthInput): MinerHealth {
  const { hotkey, paidRao, parameters, metagraph: { netuid, neurons } } = input;
  const own = neurons.find((neuron) => neuron.hotkey === hotkey);
  if (own === undefined) {
    const sentences = [
      `this hotkey is not registered on subnet ${netuid}, so nothing is paid for its work; register it: \`iota chain register\``,
    ];
    return {
      level: "alarm",
      sentences,
      uid: null,
      emissionRao: 0n,
      earnedRao: 0n,
      incentiveShare: 0,
      rank: null,
      ranked: 0,
      stakeRao: 0n,
    };
  }
  const all = neurons.reduce((sum, { incentive }) => sum + incentive, 0);
  const incentiveShare = all === 0 ? 0 : own.incentive / all;
  const { uid, emissionRao } = own;
  const share = `, ${(100 * incentiveShare).toFixed(1)} % of the miners' share`;
  const isUnpayable = emissionRao > 0n && isBurned(own, parameters);
  const earns = emissionRao > 0n
    ? `uid ${uid} ${payText({ paidRao, emissionRao, isBurned: isUnpayable, share })}`
    : `uid ${uid} earned nothing in the last epoch${unpaidText(input.support)}`;
  const { isAtRisk, text } = place(input, own);
  const sentences = isAtRisk ? [text, earns] : [earns, text];
  return {
    level: isAtRisk || isUnpayable ? "alarm" : emissionRao > 0n ? "good" : "waiting",
    sentences,
    uid,
    emissionRao,
    earnedRao: paidRao,
    incentiveShare,
    rank: own.incentive === 0 ? null : 1 + neurons.filter(({ incentive }) => incentive > own.incentive).length,
    ranked: neurons.filter(({ incentive }) => incentive > 0).length,
    stakeRao: own.stakeRao,
  };
}

function unpaidText(support: number | null): string {
  if (support === null) return "";
  if (support === 0) return ": no validator has set a weight for it yet";
  const by = `: validators with ${(100 * support).toFixed(1)} % of the stake weigh it`;
  return support > 0.5 ? `${by}, which the next epoch counts` : `${by}; consensus needs more than half`;
}

function place({ metagraph, parameters }: MinerHealthInput, own: Neuron): { isAtRisk: boolean; text: string } {
  const { block, neurons } = metagraph;
  const immuneBlocks = own.registeredAtBlock + parameters.immunityPeriodBlocks - block;
  if (immuneBlocks > 0) {
    const hours = (immuneBlocks * parameters.blockMs) / hourMs;
    const time = hours >= 1 ? `${hours.toFixed(1)} h` : `${Math.ceil(60 * hours)} min`;
    return { isAtRisk: false, text: `its place is immune for ${immuneBlocks} more blocks (${time})` };
  }
  if (neurons.length < parameters.maxUids) return { isAtRisk: false, text: "its place is safe: the subnet has room" };
  const isMortal = (neuron: Neuron) => neuron.registeredAtBlock + parameters.immunityPeriodBlocks <= block;
  const below = neurons.filter((neuron) => isMortal(neuron) && neuron.emissionRao < own.emissionRao).length;
  return below === 0
    ? { isAtRisk: true, text: "the next newcomer takes its place: no other neuron without immunity earns less" }
    : { isAtRisk: false, text: `neurons without immunity that earn less and would lose their places first: ${below}` };
}

/** Consensus clips weights to what most of the voting stake gives. */
interface SupportInput {
  readonly own: Neuron;
  readonly metagraph: Metagraph;
  readonly parameters: Pick<SubnetParameters, "stakeThresholdRao">;
}

/** In [0, 1], without unrevealed weights. */
export async function validatorSupport(chain: Pick<Chain, "weightsOf">, input: SupportInput): Promise<number> {
  const { own, metagraph: { neurons }, parameters } = input;
  const voters = neurons.filter(({ hasPermit, isActive, stakeRao }) =>
    hasPermit && isActive && stakeRao > 0n && stakeRao >= parameters.stakeThresholdRao
  );
  let forRao = 0n;
  for (const { uid, stakeRao, lastUpdateBlock } of voters) {
    if (uid === own.uid || lastUpdateBlock <= own.registeredAtBlock) continue; // its weights are for a former hotkey
    const row = await chain.weightsOf({ uid, mechanism: 0 });
    if (row.some((weight) => weight.uid === own.uid && weight.value > 0)) forRao += stakeRao;
  }
  const allRao = voters.reduce((sum, { stakeRao }) => sum + stakeRao, 0n);
  return allRao === 0n ? 0 : Number(forRao * 1_000_000n / allRao) / 1_000_000;
}
