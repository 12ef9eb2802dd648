/** Changed copies of valid files, as damage and strangers make them. The same seed makes the same ones. */

type Pick = (below: number) => number;

const numbers = [0, 1, 2, 127, 128, 255, 0x7f, 0x80, 0xff];

/** Cut off, flipped bits, other bytes, parts repeated, left out or swapped. */
export function changedBytes(bytes: Uint8Array, pick: Pick): Uint8Array<ArrayBuffer> {
  const copy = bytes.slice();
  const at = () => pick(Math.max(1, copy.length));
  const part = () => {
    const from = at();
    return [from, Math.min(copy.length, from + 1 + pick(16))] as const;
  };
  switch (pick(6)) {
    case 0:
      return copy.slice(0, at());
    case 1:
      for (let i = 0; i <= pick(4); i++) copy[at()]! ^= 1 << pick(8);
      return copy;
    case 2:
      for (let i = 0; i <= pick(4); i++) copy[at()] = numbers[pick(numbers.length)]!;
      return copy;
    case 3: {
      const [from, to] = part();
      return new Uint8Array([...copy.subarray(0, to), ...copy.subarray(from)]);
    }
    case 4: {
      const [from, to] = part();
      return new Uint8Array([...copy.subarray(0, from), ...copy.subarray(to)]);
    }
    default: {
      const [from, to] = part();
      return copy.fill(pick(2) * 255, from, to);
    }
  }
}

const strangeValues: readonly unknown[] = [
  ...[
    null,
    true,
    -1,
    0,
    1,
    0.5,
    3,
    64,
    2 ** 31,
    2 ** 53,
    1e12,
    1e300,
    -(2 ** 40),
    "",
    "x",
    "../../etc/passwd",
    "\u001b[2J",
  ],
  ...["__proto__", "9".repeat(400), [], {}, [[]], [null], { constructor: 1 }, [1e12, 1e12], [0, 1e12]],
];

/** JSON in which some values are others: of another type, huge, missing, from elsewhere in it, deeply nested. */
export function changedJson(text: string, pick: Pick): string {
  if (pick(8) === 0) return new TextDecoder().decode(changedBytes(new TextEncoder().encode(text), pick));
  const value: unknown = JSON.parse(text);
  for (let i = 0; i <= pick(3); i++) changeOne(value, pick);
  const changed = JSON.stringify(value);
  return pick(4) === 0 ? changed.replaceAll(/\b1e300\b|\b1e\+300\b/g, "1e999") : changed; // reads as Infinity
}

function changeOne(root: unknown, pick: Pick): void {
  const places: { parent: Record<string, unknown>; key: string }[] = [];
  const visit = (value: unknown, depth: number) => {
    if (typeof value !== "object" || value === null || depth > 8) return;
    for (const key of Object.keys(value)) {
      places.push({ parent: value as Record<string, unknown>, key });
      visit((value as Record<string, unknown>)[key], depth + 1);
    }
  };
  visit(root, 0);
  if (places.length === 0) return;
  const { parent, key } = places[pick(places.length)]!;
  switch (pick(5)) {
    case 0:
      delete parent[key];
      return;
    case 1: {
      const other = places[pick(places.length)]!;
      parent[key] = structuredClone(other.parent[other.key]);
      return;
    }
    case 2:
      if (typeof parent[key] === "number") parent[key] = (parent[key] as number) * [2, -1, 1e6, 0.5, 1e300][pick(5)]!;
      else parent[`${key}2`] = parent[key];
      return;
    case 3: {
      let deep: unknown = 1;
      for (let i = 0; i < 2000; i++) deep = pick(2) === 0 ? [deep] : { a: deep };
      parent[key] = deep;
      return;
    }
    default:
      parent[key] = structuredClone(strangeValues[pick(strangeValues.length)]);
  }
}

/** Fails with the seed's own case, so that one line repeats it. */
export async function mustEndInSentence(
  what: string,
  body: () => Promise<unknown> | unknown,
  isSentence: (error: unknown) => boolean,
): Promise<boolean> {
  try {
    await body();
    return true;
  } catch (error) {
    if (isSentence(error)) return false;
    throw new Error(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
  }
}
