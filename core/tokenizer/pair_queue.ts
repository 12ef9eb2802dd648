/**
 * A heap of pairs to merge, highest count first, ties by the smaller pair. Counts only fall, so stale entries are
 * corrected at the top.
 */

import { present } from "../assert.ts";

interface Entry {
  readonly count: number;
  readonly pair: number;
}

function before(a: Entry, b: Entry): boolean {
  return a.count > b.count || (a.count === b.count && a.pair < b.pair);
}

export class PairQueue {
  readonly #heap: Entry[] = [];

  push(entry: Entry): void {
    const heap = this.#heap;
    let child = heap.push(entry) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(entry, this.#at(parent))) break;
      heap[child] = this.#at(parent);
      child = parent;
    }
    heap[child] = entry;
  }

  pop(): Entry | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(this.#at(child + 1), this.#at(child))) child++;
      if (!before(this.#at(child), last)) break;
      heap[parent] = this.#at(child);
      parent = child;
    }
    heap[parent] = last;
    return top;
  }

  #at(index: number): Entry {
    return present(this.#heap[index], "Pair queue index must lie inside the heap");
  }
}
