/** Bytes and numbers as the hex texts of JSON-RPC. */

export type Hex = `0x${string}`;

export const hexOf = (bytes: Uint8Array): Hex => `0x${bytes.toHex()}`;
export const hexOfNumber = (value: number): Hex => `0x${value.toString(16)}`;
