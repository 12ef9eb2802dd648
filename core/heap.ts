/**
 * A binary min-heap over a plain array, which machine state can hold. `before` is a strict weak order, fixed for stored
 * items.
 */

export type Before<T> = (a: T, b: T) => boolean;

export function heapPush<T>(heap: T[], value: T, before: Before<T>): void {
  let at = heap.length;
  heap.push(value);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(value, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = value;
}

export function heapPop<T>(heap: T[], before: Before<T>): T | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (heap.length === 0 || last === undefined) return first;
  sink(heap, { at: 0, value: last, before });
  return first;
}

/** For rare removals from the middle. */
export function heapKeep<T>(heap: T[], keeps: (value: T) => boolean, before: Before<T>): void {
  const kept = heap.filter(keeps);
  if (kept.length === heap.length) return;
  heap.splice(0, heap.length, ...kept);
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap, { at, value: heap[at]!, before });
}

function sink<T>(heap: T[], { at, value, before }: { at: number; value: T; before: Before<T> }): void {
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
    if (!before(heap[child]!, value)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
}
