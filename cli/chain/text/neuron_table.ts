/**
 * The metagraph as a table for people and as lines for programs. A narrow terminal shows permit and activity as one
 * mark.
 */

import type { Metagraph, Neuron, SubnetParameters } from "../../../chain/chain.ts";
import { isBurned } from "../../../chain/duty/epoch_pay.ts";
import type { Paint } from "../../terminal/text/paint.ts";
import { short, shortAddress } from "../../terminal/text/format.ts";
import { alignedTable, type Column } from "./chain_words.ts";

const wideColumns = 112; // the width of the widest table
const u16Max = 0xffff;
const raoPerToken = 1e9;

const sortings = ["uid", "stake", "incentive", "dividends", "emission"] as const;
export type Sorting = typeof sortings[number];

/** Largest first, except for uids. */
export function sortedNeurons(neurons: readonly Neuron[], sorting: Sorting): Neuron[] {
  const keyOf: Record<Sorting, (neuron: Neuron) => number> = {
    uid: ({ uid }) => -uid,
    stake: ({ stakeRao }) => Number(stakeRao),
    incentive: ({ incentive }) => incentive,
    dividends: ({ dividends }) => dividends,
    emission: ({ emissionRao }) => Number(emissionRao),
  };
  return [...neurons].sort((a, b) => keyOf[sorting](b) - keyOf[sorting](a) || a.uid - b.uid);
}

type SubnetOwner = Pick<SubnetParameters, "ownerHotkey" | "ownerColdkey">;

interface NeuronTable {
  readonly block: number;
  readonly owner: SubnetOwner;
  readonly columns: number;
  readonly paint: Paint;
}

export function neuronTable(neurons: readonly Neuron[], { block, owner, columns, paint }: NeuronTable): string[] {
  const isWide = columns >= wideColumns;
  const at = { block, owner };
  const lines = alignedTable(isWide ? wide(at) : narrow(at, columns), neurons);
  const marks = isWide ? [] : ["● validator permit  ○ permit, but inactive  · none"];
  const burned = neurons.some((neuron) => neuron.emissionRao > 0n && isUnpaid(neuron, owner))
    ? ["burned: incentive of hotkeys whose coldkey owns the subnet is paid to nobody"]
    : [];
  const legend = [...marks, ...burned].map((text) => paint.dim(text));
  return [paint.dim(lines[0]!), ...lines.slice(1), ...(legend.length === 0 ? [] : ["", ...legend])];
}

/** The chain burns incentive, but pays dividends. */
const isUnpaid = (neuron: Neuron, owner: SubnetOwner): boolean => isBurned(neuron, owner) && neuron.dividends === 0;

const uid: Column<Neuron> = { title: "uid", align: "right", text: (neuron) => String(neuron.uid) };
const hotkey: Column<Neuron> = { title: "hotkey", align: "left", text: (neuron) => shortAddress(neuron.hotkey) };
const stake: Column<Neuron> = { title: "stake", align: "right", text: ({ stakeRao }) => tokensShort(stakeRao) };
const emission = (owner: SubnetOwner): Column<Neuron> => ({
  title: "emission",
  align: "right",
  text: (each) => each.emissionRao > 0n && isUnpaid(each, owner) ? "burned" : tokensShort(each.emissionRao),
});

const updated = (block: number): Column<Neuron> => ({
  title: "updated",
  align: "right",
  text: ({ lastUpdateBlock }) => short(Math.max(0, block - lastUpdateBlock)),
});

const share = (title: string, read: (neuron: Neuron) => number): Column<Neuron> => ({
  title,
  align: "right",
  text: (neuron) => read(neuron) === 0 ? "–" : (read(neuron) / u16Max).toFixed(4),
});

const flag = (title: string, read: (neuron: Neuron) => boolean): Column<Neuron> => ({
  title,
  align: "left",
  text: (neuron) => read(neuron) ? "yes" : "–",
});

const axon = (width: number): Column<Neuron> => ({
  title: "axon",
  align: "left",
  width,
  text: ({ axon }) => axon === null ? "–" : axonText(axon),
});

type TableAt = Pick<NeuronTable, "block" | "owner">;

function wide({ block, owner }: TableAt): Column<Neuron>[] {
  return [
    ...[uid, hotkey, stake, flag("permit", (each) => each.hasPermit), flag("active", (each) => each.isActive)],
    ...[share("incentive", (each) => each.incentive), share("dividends", (each) => each.dividends), emission(owner)],
    ...[updated(block), axon(26)],
  ];
}

function narrow({ block, owner }: TableAt, columns: number): Column<Neuron>[] {
  const mark = ({ hasPermit, isActive }: Neuron) => hasPermit ? isActive ? "●" : "○" : "·";
  return [
    ...[uid, { title: "", align: "left", text: mark } satisfies Column<Neuron>, hotkey, stake],
    ...[share("incent", (each) => each.incentive), share("divid", (each) => each.dividends), emission(owner)],
    ...[updated(block), axon(Math.max(8, columns - 64))],
  ];
}

export function tokensShort(rao: bigint): string {
  return rao === 0n ? "–" : short(Number(rao) / raoPerToken);
}

export function axonText({ ip, port }: { ip: string; port: number }): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** Amounts are decimal strings, because they exceed JSON's numbers. */
export function neuronFields(neuron: Neuron, { block, owner }: Pick<Metagraph, "block"> & { owner: SubnetOwner }) {
  const { stakeRao, emissionRao, axon, ...plain } = neuron;
  return {
    ...plain,
    stakeRao: String(stakeRao),
    emissionRao: String(emissionRao),
    isIncentiveBurned: isBurned(neuron, owner),
    updateAgeBlocks: Math.max(0, block - neuron.lastUpdateBlock),
    axon: axon === null ? null : { ip: axon.ip, port: axon.port, protocol: axon.protocol, version: axon.version },
  };
}
