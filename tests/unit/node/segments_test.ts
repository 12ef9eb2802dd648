/** Held contents, whatever they are: one suite for production's bytes and for the simulator's names without bytes. */

import { assertEquals, assertThrows } from "@std/assert";
import { byteSegments, type Segments } from "../../../cli/roles/segments.ts";
import { digest } from "../../lab/sim/digest.ts";
import { symbolicSegments } from "../../lab/sim/processes/symbolic_segments.ts";

function testSegments<Held>(kind: string, { open, contents }: { open: () => Segments<Held>; contents: [Held, Held] }) {
  const [first, second] = contents;

  Deno.test(`Segments of ${kind}: a content is there until its last holder releases it`, () => {
    const segments = open();
    const ref = segments.hold(first);
    const other = segments.hold(second);
    assertEquals(segments.hold(first), ref);
    assertEquals([segments.holders, segments.holdersOf(ref), segments.bytes], [3, 2, ref.bytes + other.bytes]);
    segments.release([ref]);
    assertEquals([segments.get(ref), segments.all], [first, [first, second]]);
    segments.release([ref, other]);
    assertEquals([segments.holders, segments.holdersOf(ref), segments.bytes, segments.all], [0, 0, 0, []]);
  });

  Deno.test(`Segments of ${kind}: reading, sending or releasing what is not held fails`, () => {
    const segments = open();
    const ref = segments.hold(first);
    segments.release([ref]);
    assertThrows(() => segments.get(ref), Error, "is not held");
    assertThrows(() => segments.named(ref), Error, "is not held");
    assertThrows(() => segments.release([ref]), Error, "is not held");
  });

  Deno.test(`Segments of ${kind}: a message's are held in order, under the names it came with`, () => {
    const segments = open();
    const names = [first, second].map((content) => open().hold(content).hash);
    const refs = segments.take({ segments: [first, second], names });
    assertEquals(refs.map(({ hash }) => hash), names);
    assertEquals(refs.map((ref) => segments.named(ref).bytes), [first, second]);
  });
}

testSegments("bytes", { open: byteSegments, contents: [new Uint8Array([1, 2, 3]), new Uint8Array([4])] });
testSegments("names", {
  open: symbolicSegments,
  contents: [{ hash: digest("a"), bytes: 3 }, { hash: digest("b"), bytes: 1 }],
});
