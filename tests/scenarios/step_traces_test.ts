/** Traces of steps and of members that come and go. The files in traces/ are for reading. */

import { ReplayedJournal } from "../support/swarm/replayed_journal.ts";
import { assertTrace, Trace } from "../support/swarm/trace.ts";
import {
  applyAll,
  closeStep,
  comeBack,
  commitAll,
  holdingOf,
  store,
  tracedSwarm,
} from "../support/swarm/traced_swarm.ts";

Deno.test("Trace: two replicas of each stage share a step", () => {
  const { hub, nodes, headA, headB, tailA, tailB } = tracedSwarm(2);
  const trace = new Trace(hub);
  trace.note("Each head has the forward of one microbatch. Its output becomes the input of a tail.");
  hub.work([headA, headB]);
  trace.note("A tail does forward, loss and backward in one task. The head that did the forward does the backward.");
  hub.work([tailA, tailB]);
  hub.work([headA, headB]);
  trace.note("Every replica commits to the gradient over its own task. The last commitment closes the step.");
  for (const node of nodes) hub.seal(node);
  assertTrace("step_of_two_replicas", trace);
});

Deno.test("Trace: a miner is lost in mid-step, and its tasks are leased again", () => {
  const { hub, nodes, headA, headB, tailA, tailB } = tracedSwarm(2);
  hub.work(nodes);
  const trace = new Trace(hub);
  trace.note("All tasks of the step are done. Everybody except tail-a commits; then the link of tail-a breaks.");
  for (const node of [headA, headB, tailB]) hub.seal(node);
  hub.step({ type: "nodeDisconnected", node: tailA });
  trace.note("tail-a stays away for limits.disconnectGraceMs. Nobody else holds its gradient, so tail-b computes it.");
  hub.wait(5_000);
  trace.note("tail-b commits again, now to both tasks. The commitments of the heads still count.");
  closeStep(hub, [headA, headB, tailB]);
  assertTrace("lost_miner_in_step", trace);
});

Deno.test("Trace: a task of a slow miner goes to a second one, and the late result is refused", () => {
  const { hub, nodes, headA: slow, headB } = tracedSwarm(2);
  closeStep(hub, nodes);
  const late = hub.take(slow, "runTask");
  const others = nodes.filter((node) => node !== slow);
  const trace = new Trace(hub);
  trace.note("Step 1: head-a is silent. The others finish the other microbatch, and head-b commits.");
  hub.work(others);
  hub.seal(headB);
  trace.note("head-a takes much longer than forwards of its stage do, so the idle head-b gets the same task as well.");
  hub.wait(1_000);
  trace.note("The first result counts. The late one of head-a is refused, without blame.");
  hub.finish(headB, hub.take(headB, "runTask"));
  hub.finish(slow, late);
  trace.note("The step closes. head-a contributes nothing to it and gets the header like everybody.");
  closeStep(hub, others);
  assertTrace("late_result", trace);
});

Deno.test("Trace: members come back with their session, with a new one, and with nothing", () => {
  const { hub, headA, headB, tailA, tailB } = tracedSwarm(2);
  hub.work([headA, headB]);
  hub.work([tailA]);
  const trace = new Trace(hub);
  trace.note("The link of tail-b breaks, and its session goes on over a new one: its open task stays its own.");
  hub.step({ type: "nodeDisconnected", node: tailB });
  hub.wait(100);
  hub.step({ type: "nodeConnected", node: tailB, role: "miner", resumed: true });
  trace.note(
    "head-a has a new session but still holds what it computed. It keeps its place, and gets its open task again.",
  );
  comeBack(hub, headA, holdingOf(hub, headA));
  trace.note("The process of tail-a was killed. It starts over, and its gradient is computed again.");
  comeBack(hub, tailA);
  trace.note("The step closes with the miners that hold gradients.");
  closeStep(hub, [headA, headB, tailB]);
  assertTrace("returning_members", trace);
});

Deno.test("Trace: a newcomer joins while a round is open, and is a replica from the next merge on", () => {
  const { hub, nodes } = tracedSwarm(1, { train: { microbatchesPerStep: 1, stepsPerRound: 1 } });
  hub.work(nodes);
  const trace = new Trace(hub);
  trace.note("The newcomer gets the stage with the fewest miners and loads the parameters of the round's start.");
  const newcomer = hub.join("newcomer");
  hub.load(newcomer);
  trace.note("It has no task in the open step, which closes without it.");
  closeStep(hub, nodes);
  trace.note("It trained nothing, so it has no payload. The mean goes to every replica.");
  commitAll(hub, nodes);
  trace.note(
    "All replicas of a stage, the newcomer included, take the same outer step. The next task is the newcomer's.",
  );
  applyAll(hub, [...nodes, newcomer]);
  store(hub);
  hub.work([newcomer]);
  assertTrace("newcomer", trace);
});

Deno.test("Trace: the orchestrator restarts in mid-step and replays its journal", () => {
  const { hub, nodes, headA, tailA } = tracedSwarm(1);
  const trace = new Trace(hub);
  const journal = new ReplayedJournal(hub);
  trace.note("Both microbatches are on their way; the tail has done the first one.");
  hub.work([headA]);
  hub.finish(tailA, hub.take(tailA, "runTask"));
  const holdings = nodes.map((node) => holdingOf(hub, node));
  trace.note("The process is killed. A new one replays the journal and has the same state, but no wires in memory.");
  journal.restart();
  trace.note("The members come back and keep their places. Both forwards are leased again, as their wires are lost.");
  for (const [i, node] of nodes.entries()) hub.join(node, { holding: holdings[i]! });
  trace.note("The tail repeats its first task too: the gradient that it had sent to the head is lost.");
  closeStep(hub, nodes);
  assertTrace("restart_in_step", trace);
});
