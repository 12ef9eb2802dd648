/** Whose wires are a reference for others: what validators found, and only those that are here. */

import { assertEquals } from "@std/assert";
import { noteVerdict, openScaleBook, trustedWires } from "../../../core/orchestrator/step/scale_book.ts";
import { nodeId } from "../../../core/ids.ts";

const [honest, friend, liar, other] = [nodeId("honest"), nodeId("friend"), nodeId("liar"), nodeId("other")];
const wires = [honest, friend].map((node) => ({ node, scale: { largest: 1, rms: 1 } }));
const nodesOf = (trusted: readonly { readonly node: string }[]) => trusted.map(({ node }) => node);

Deno.test("Scale book: of several validators two must find a node wrong, the only one may alone", () => {
  const book = openScaleBook(1);
  noteVerdict(book, { miner: honest, validator: liar, passed: false });
  assertEquals(nodesOf(trustedWires(book, { wires, validators: new Set([liar, other]) })), [honest, friend]);
  assertEquals(nodesOf(trustedWires(book, { wires, validators: new Set([liar]) })), [friend]);
  noteVerdict(book, { miner: honest, validator: other, passed: false });
  assertEquals(nodesOf(trustedWires(book, { wires, validators: new Set([liar, other]) })), [friend]);
  noteVerdict(book, { miner: honest, validator: other, passed: true });
  assertEquals(nodesOf(trustedWires(book, { wires, validators: new Set([liar, other]) })), [honest, friend]);
});

Deno.test("Scale book: the word of a validator that has left counts for nothing", () => {
  const book = openScaleBook(1);
  noteVerdict(book, { miner: honest, validator: liar, passed: false });
  assertEquals(nodesOf(trustedWires(book, { wires, validators: new Set([other]) })), [honest, friend]);
});
