/**
 * Live processes, in a list that draws one at random in constant time. Its order depends only on arrivals and departures.
 */

import type { NodeId } from "../../../core/ids.ts";
import type { Dice } from "./dice.ts";

export class Crowd<T extends { readonly node: NodeId }> {
  readonly #list: T[] = [];
  readonly #places = new Map<NodeId, number>();

  get size(): number {
    return this.#list.length;
  }

  get all(): readonly T[] {
    return this.#list;
  }

  add(process: T): void {
    this.#places.set(process.node, this.#list.length);
    this.#list.push(process);
  }

  /** The last one takes its place. */
  remove(process: T): void {
    const place = this.#places.get(process.node);
    if (place === undefined) return;
    this.#places.delete(process.node);
    const last = this.#list.pop()!;
    if (last === process) return;
    this.#list[place] = last;
    this.#places.set(last.node, place);
  }

  pick(dice: Dice): T | null {
    return this.#list.length === 0 ? null : dice.pick(this.#list);
  }
}
