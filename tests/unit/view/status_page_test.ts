/** `/status` says of a run, from its view alone, what the machine knows; a record log and a journal bring both through a restart. */

import { assert, assertEquals } from "@std/assert";
import { splitLayers } from "../../../core/model/stages.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { readStatus } from "../../../cli/node/find/run_status.ts";
import { HubJournal } from "../../support/hub_journal.ts";
import { runFacts, takenUp } from "../../../cli/orchestrator/run/run_facts.ts";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { projectionConsumers } from "../../../cli/orchestrator/run/consumers.ts";
import { Projection } from "../../../cli/observe/projection/projection.ts";
import { openRecordLog, readRecordLog } from "../../../cli/observe/projection/record_log.ts";
import { FakeHost } from "../../support/fake_host.ts";
import type { Timers } from "../../../net/timers.ts";
import { passTimes } from "../../lab/world/devices.ts";
import { patienceMs, World } from "../../lab/world/world.ts";
import { configOf } from "../../support/swarm/whole_run.ts";
import { testSigner } from "../../support/net/test_keys.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const config = configOf({ swarm: { replicas: 2, validators: 1 } });
const layersOfStages = splitLayers(config);
const identity = { runId: "test-1a2b3c4d", hub: testSigner(1).address };

async function openRun(folder: string, nowMs: () => number, timers: Timers): Promise<Projection> {
  const host = new FakeHost();
  return new Projection({
    output: new TerminalOutput({ host, json: true, quiet: false, verbose: false, noColor: true }),
    opened: {
      facts: runFacts({ command: "orchestrate", device: "", config, layersOfStages }),
      startedAtMs: 0,
      step: 0,
    },
    nowMs,
    records: await openRecordLog({ folder, timers, warn: (text) => assert(false, text) }),
    refused: () => ({ total: 3, byCode: { notAdmitted: 3 } }),
    identity,
    consumers: projectionConsumers,
  });
}

async function statusOf(run: Projection): Promise<Record<string, unknown>> {
  const response = await run.pages["/status"]!(new Request("http://hub/status"), "unknown");
  const text = await response.text();
  const { runId, hub } = readStatus(text) ?? {};
  assertEquals({ runId, hub }, identity, text);
  return JSON.parse(text);
}

const expected = ({ phase, step, round, members }: OrchestratorState) => ({
  ...identity,
  name: config.name,
  size: config.size,
  ...{ phase, step, steps: config.train.steps, round, nodes: members.size },
  isPaused: false,
  isPausedByOwner: false,
  isHalted: false,
  roundsLost: 0,
  refused: { total: 3, byCode: { notAdmitted: 3 } },
});

Deno.test("Status: it agrees with the machine all the way, with a lost and a new miner and another life", () =>
  withScratchFolder(async (folder) => {
    const identity = { run: "local", program: "test", config: "test" };
    const open = () => HubJournal.open({ path: `${folder}/journal.db`, identity, maxBytes: 2 ** 28 });
    const first = open();
    let run: Projection | null = null;
    const swarm = new World({
      config,
      passMs: passTimes(100),
      hub: { journal: first.journal },
      watch: (record) => run?.tell(record),
    });
    const nowMs = () => swarm.clock.nowMs;
    run = await openRun(folder, nowMs, swarm.clock.timers);
    run.tell(takenUp({ step: 0, round: 0 }, null));
    const seen = new Set<string>();
    const compare = async () => {
      const { state } = swarm.orchestrator;
      const [answer, wanted] = [statusOf(run!), expected(state)]; // both of this moment
      assertEquals(await answer, wanted);
      seen.add(state.phase);
    };
    const until = async (isThere: (state: OrchestratorState) => boolean) => {
      for (let passedMs = 0; !isThere(swarm.orchestrator.state); passedMs += 500) {
        assert(passedMs < patienceMs);
        await swarm.quiet();
        await compare();
        swarm.clock.advance(500);
      }
    };
    await swarm.startAll();
    await until(({ step }) => step >= 1);
    swarm.kill(swarm.members[0]!.address);
    await swarm.addMiner();
    await until(({ step }) => step >= 4);
    swarm.orchestrator.stop("to go on later");
    first.journal.close();
    run.close();

    const { journal, recovered } = open();
    assert(recovered !== null);
    run = await openRun(folder, nowMs, swarm.clock.timers);
    run.tell(takenUp(recovered.state, recovered.state));
    swarm.restart({ journal, recovered });
    await until(({ phase }) => phase === "finished");
    await compare();
    run.close();
    journal.close();
    assertEquals(seen.has("training") && seen.has("finished"), true, [...seen].join());
    const read = await readRecordLog(folder);
    assertEquals([read.problem, read.view], [null, run.view]);
    assertEquals(run.view.losses.values.length >= config.train.steps, true);
  }));
