/**
 * Whether two values of plain objects, arrays, maps and sets are the same to a machine: equal parts in the same order, and an
 * object that occurs twice in one also occurs twice in the other.
 *
 * Rejects: class instances; a state is plain data. An object shared by both counts as equal without a comparison.
 */

interface Pairs {
  readonly partner: Map<object, object>;
  readonly taken: Set<object>;
}

export function isSameState(a: unknown, b: unknown): boolean {
  return isSame(a, b, { partner: new Map(), taken: new Set() });
}

function isSame(a: unknown, b: unknown, pairs: Pairs): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const partner = pairs.partner.get(a);
  if (partner !== undefined || pairs.taken.has(b)) return partner === b;
  pairs.partner.set(a, b);
  pairs.taken.add(b);
  if (Array.isArray(a) && Array.isArray(b)) return areSame(a, b, pairs);
  if (a instanceof Set && b instanceof Set) return areSame([...a], [...b], pairs);
  if (a instanceof Map && b instanceof Map) {
    return areSame([...a.keys()], [...b.keys()], pairs) && areSame([...a.values()], [...b.values()], pairs);
  }
  return areSame(Object.keys(a), Object.keys(b), pairs) && areSame(Object.values(a), Object.values(b), pairs);
}

function areSame(a: readonly unknown[], b: readonly unknown[], pairs: Pairs): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i], pairs)) return false;
  return true;
}
