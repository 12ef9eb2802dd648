/// <reference lib="dom" />
/** Named parts of the page's fragment, `#at=123&node=5Grw…`, for links. */

export function addressPart(name: string): string | null {
  return new URLSearchParams(location.hash.slice(1)).get(name);
}

export function fragmentWith(name: string, value: string | null): string {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (value === null) parts.delete(name);
  else parts.set(name, value);
  return `#${parts}`;
}

export function setAddressPart(name: string, value: string | null): void {
  if (addressPart(name) !== value) history.replaceState(null, "", fragmentWith(name, value));
}
