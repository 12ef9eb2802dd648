/**
 * Hostile miners among a swarm's processes: the words that name them, and what became of them.
 *
 *     "lazy:1,flip:2"   one miner that skips its layers, two that send the wrong sign
 *
 * Out of scope: what each does (attacks.ts), and starting them (cli/swarm).
 */

import type { RunRecord } from "../../core/protocol/record.ts";
import { attackersGrammar } from "../chaos/grammars.ts";
import { type AttackName, processAttackNames } from "./attack_names.ts";

const isAttack = (name: string): name is AttackName => (processAttackNames as readonly string[]).includes(name);

/** The attack of each hostile miner, or what is wrong with the words. */
export function parseAttackers(text: string): readonly AttackName[] | { readonly problem: string } {
  const names: AttackName[] = [];
  for (const part of text.split(",")) {
    const [, name = "", count] = /^\s*([a-z-]+)\s*:\s*(\d{1,4})\s*$/.exec(part) ?? [];
    if (count === undefined || Number(count) === 0) return { problem: `it must be ${attackersGrammar}` };
    if (!isAttack(name)) return { problem: `an attack must be one of ${processAttackNames.join(", ")}` };
    names.push(...Array.from({ length: Number(count) }, () => name));
  }
  return names;
}

/** One hostile miner in the summary. */
export interface AttackerEnd {
  readonly hotkey: string;
  readonly attack: AttackName;
  readonly ejectedInRound: number | null; // the round that was open; null: never
  readonly payShareOfHonest: number | null; // of what the chain paid an honest miner on average; null: it paid none
}

export class AttackerTally {
  readonly #attacks = new Map<string, AttackName>(); // by hotkey
  readonly #ejected = new Map<string, number>(); // by hotkey, all nodes
  #round = 0;

  enroll(hotkey: string, attack: AttackName): void {
    this.#attacks.set(hotkey, attack);
  }

  onRecord(record: RunRecord): void {
    if (record.type === "roundMerged") this.#round = record.round;
    if (record.type === "nodeLost" && record.expelled === true && !this.#ejected.has(record.node)) {
      this.#ejected.set(record.node, this.#round);
    }
  }

  /** `earned`: what each miner earned, in any unit. */
  summary(earned: ReadonlyMap<string, number>): { attackers: AttackerEnd[]; honestEjected: number } {
    const honest = [...earned].filter(([hotkey]) => !this.#attacks.has(hotkey)).map(([, amount]) => amount);
    const usual = honest.reduce((sum, amount) => sum + amount, 0) / Math.max(1, honest.length);
    return {
      attackers: [...this.#attacks].map(([hotkey, attack]) => ({
        ...{ hotkey, attack, ejectedInRound: this.#ejected.get(hotkey) ?? null },
        payShareOfHonest: usual === 0 ? null : (earned.get(hotkey) ?? 0) / usual,
      })),
      honestEjected: [...this.#ejected.keys()].filter((hotkey) => !this.#attacks.has(hotkey)).length,
    };
  }
}
