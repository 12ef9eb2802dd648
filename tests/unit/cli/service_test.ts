/** `iota service`: the files it writes, what it runs, and what it prints where there is no service manager. */

import { commandTable } from "../../../cli/command_table.ts";
import { withCommands } from "../../support/with_commands.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command } from "../../../cli/terminal/command.ts";
import { command as service } from "../../../cli/commands/service.ts";
import { main } from "../../../cli/command_line.ts";
import { launchd } from "../../../cli/tools/service/launchd.ts";
import type { CommandLine } from "../../../cli/tools/service/service_manager.ts";
import * as actions from "../../../cli/tools/service/service_actions.ts";
import type { ServicePlan } from "../../../cli/tools/service/service_plan.ts";
import { systemd } from "../../../cli/tools/service/systemd.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

/** Beside this file, also when its tests run with those of others. */
const snapshots = { path: new URL("./__snapshots__/service_test.ts.snap", import.meta.url).pathname };

const plan: ServicePlan = {
  role: "miner",
  name: "iota-miner",
  program: [
    "/ann/bin/iota",
    "miner",
    "--wallet",
    "hot",
    "--schedule",
    "mon 0:00-7:00",
    "--data",
    '/a "b"/50%/$x & <y>',
  ],
  workingFolder: "/ann",
  writes: ["/ann/.local/share/iota", "/var/my logs"],
  isNode: true,
  variables: {},
};

const unitText = systemd("/ann/.config").textOf;
const plistText = (plan: ServicePlan) => launchd("/ann").textOf(plan, { hasNamespaces: false });

Deno.test("Service: the systemd unit restarts forever, writes only its folders and quotes every word", async (t) => {
  await t.assertSnapshot(unitText(plan, { hasNamespaces: true }), snapshots);
});

Deno.test("Service: a unit sees the machine's /tmp if it has files there", () => {
  const privateTmp = (changes: Partial<ServicePlan>) =>
    unitText({ ...plan, ...changes }, { hasNamespaces: true }).includes("PrivateTmp=yes");
  assertEquals(privateTmp({}), true);
  assertEquals(privateTmp({ program: ["/tmp/iota", "miner"] }), false);
  assertEquals(privateTmp({ writes: ["/var/tmp"] }), false);
  assertEquals(privateTmp({ workingFolder: "/tmpfiles" }), true);
});

Deno.test("Service: where the kernel has no user namespaces the unit leaves the rest of the sandbox", () => {
  const text = unitText(plan, { hasNamespaces: false });
  assertStringIncludes(text, "NoNewPrivileges=yes");
  assertEquals(/^(ProtectSystem|PrivateTmp|ReadWritePaths)=/m.test(text), false);
});

Deno.test("Service: an orchestrator whose run is over stays ended, by either manager", () => {
  const run: ServicePlan = { ...plan, role: "orchestrate", isNode: false };
  const unit = unitText(run, { hasNamespaces: true });
  assertMatch(unit, /^Restart=on-failure$/m);
  assertMatch(unit, /^RestartMaxDelaySec=30$/m);
  assertMatch(plistText(run), /<key>KeepAlive<\/key>\s*<dict>\s*<key>SuccessfulExit<\/key>\s*<false\/>\s*<\/dict>/);
});

Deno.test("Service: a unit sees the data folder that its owner's shell names", () => {
  const unit = unitText({ ...plan, variables: { XDG_DATA_HOME: "/big disk" } }, { hasNamespaces: true });
  assertMatch(unit, /^Environment="XDG_DATA_HOME=\/big disk"$/m);
});

Deno.test("Service: the launchd agent is kept alive and escapes what XML would read", async (t) => {
  await t.assertSnapshot(plistText(plan), snapshots);
});

class FakeMachine implements actions.Machine {
  readonly files = new Map<string, string>();
  readonly ran: string[] = [];
  readonly folders: string[] = [];
  readonly #codes: Readonly<Record<string, number>>;

  /** By the start of the command line; unlisted programs do not exist. */
  constructor(codes: Readonly<Record<string, number>>) {
    this.#codes = codes;
  }

  run(line: CommandLine): Promise<actions.Ran | null> {
    const text = line.join(" ");
    this.ran.push(text);
    const known = Object.keys(this.#codes).find((start) => text.startsWith(start));
    return Promise.resolve(known === undefined ? null : { code: this.#codes[known]!, text: `says ${known}` });
  }

  async show(line: CommandLine): Promise<number> {
    return (await this.run(line))?.code ?? 1;
  }

  read(path: string): Promise<string | null> {
    return Promise.resolve(this.files.get(path) ?? null);
  }

  write(path: string, text: string): Promise<void> {
    this.files.set(path, text);
    return Promise.resolve();
  }

  remove(path: string): Promise<void> {
    this.files.delete(path);
    return Promise.resolve();
  }

  createFolder(path: string): Promise<void> {
    this.folders.push(path);
    return Promise.resolve();
  }
}

const perform = {
  install: actions.installService,
  status: actions.showService,
  logs: actions.showServiceLogs,
  remove: actions.removeService,
};

async function run(words: readonly string[], machine: actions.Machine, { isMac = false } = {}) {
  const host = new FakeHost({ env: { HOME: "/ann", USER: "ann", IOTA_PROGRAM: "/ann/bin/iota" } });
  const system = isMac ? "darwin" as const : "linux" as const;
  const table = {
    ...commandTable,
    service: async () => ({
      ...service,
      actions: Object.fromEntries(
        await Promise.all(
          Object.entries(service.actions!).map(async ([name, load]) => {
            const action: Command = {
              ...await load(),
              run: (context) =>
                perform[name as keyof typeof perform](
                  { ...context, environment: { ...context.environment, system } },
                  machine,
                ),
            };
            return [name, () => Promise.resolve(action)];
          }),
        ),
      ),
    }),
  };
  const code = await main(["service", ...words], host, withCommands(table));
  return { code, ...host.written };
}

const unitPath = "/ann/.config/systemd/user/iota-miner.service";
const role = ["--", "miner", "--wallet", "hot", "--json", "--quiet"];

Deno.test("Service: installing writes the unit, starts it and says what lingering is for", async () => {
  const machine = new FakeMachine({ systemctl: 0, unshare: 0 });
  const { code, stdout, stderr } = await run(["install", ...role], machine);
  assertEquals(code, 0);
  assertMatch(stderr, /^\S+ \S+ warn {2}The service cannot start yet: .*hot.*\n$/); // and nothing else
  assertEquals([...machine.files.keys()], [unitPath]);
  assertEquals(machine.folders, ["/ann/.local/share/iota"]);
  assertMatch(
    machine.files.get(unitPath)!,
    /^ExecStart=\/ann\/bin\/iota miner --wallet hot --json --quiet --auto-restart$/m,
  );
  assertEquals(machine.ran.slice(-3), [
    "systemctl --user daemon-reload",
    "systemctl --user enable iota-miner",
    "systemctl --user restart iota-miner",
  ]);
  assertStringIncludes(stdout, machine.files.get(unitPath)!);
  assertStringIncludes(stdout, "loginctl enable-linger");
});

Deno.test("Service: --dry-run prints the unit and touches nothing", async () => {
  const machine = new FakeMachine({});
  const { code, stdout } = await run(["install", "--dry-run", ...role], machine);
  assertEquals([code, machine.files.size, machine.folders.length], [0, 0, 0]);
  assertStringIncludes(stdout, `# ${unitPath}\n`);
  assertStringIncludes(stdout, "Restart=always");
});

Deno.test("Service: an orchestrator's unit starts it in this folder, and begins or resumes without further options", async () => {
  await withScratchFolder(async (folder) => {
    const home = Deno.cwd();
    Deno.chdir(folder);
    try {
      await Deno.writeTextFile("run.toml", 'size = "toy"\n');
      const sentence = (_: unknown, i: number) =>
        `In the year ${1700 + i} the ${i * i} ships of ${i * 7919 % 997} came.`;
      await Deno.writeTextFile("text.txt", Array.from({ length: 2000 }, sentence).join("\n\n"));
      const here = Deno.cwd();
      const words = ["--config", "run.toml", "--data=runs/own", "--corpus", "text.txt", "--log-file", "hub.log"];
      const { code, stdout, stderr } = await run(
        ["install", "--dry-run", "--", "orchestrate", ...words, "--host", "0.0.0.0"],
        new FakeMachine({ unshare: 0 }),
      );
      assertEquals([code, stderr], [0, ""]);
      const started = "/ann/bin/iota orchestrate --config run.toml --data=runs/own " +
        "--corpus text.txt --log-file hub.log --host 0.0.0.0";
      assertEquals(/^ExecStart=(.*)$/m.exec(stdout)?.[1], started);
      assertEquals(/^WorkingDirectory=(.*)$/m.exec(stdout)?.[1], here);
      assertMatch(stdout, /^Restart=on-failure$/m);
      assertEquals(/^ReadWritePaths=(.*)$/m.exec(stdout)?.[1], `-${here}/runs/own -${here}`);
      const named = await run(
        ["install", "--dry-run", "--", "orchestrate", "--config", "run.toml"],
        new FakeMachine({ unshare: 0 }),
      );
      assertMatch(named.stdout, /^ReadWritePaths=-\/ann\/\.local\/share\/iota$/m);
      const refused: [string[], RegExp][] = [
        [["--config", "run.toml", "--fresh"], /with --fresh would put its run aside/],
        [["--config", "other.toml"], /Cannot read the configuration '.*': it does not exist/],
        [["--set", "train.stepz=3"], /train\.stepz.*did you mean train\.steps/],
      ];
      for (const [wrong, says] of refused) {
        const machine = new FakeMachine({ systemctl: 0, unshare: 0 });
        const result = await run(["install", "--", "orchestrate", ...wrong], machine);
        assertMatch(result.stderr, says);
        assertEquals([result.code === 0, machine.files.size], [false, 0]);
      }
    } finally {
      Deno.chdir(home);
    }
  });
});

Deno.test("Service: a log or data in the home folder itself would open all of it, and are refused", async () => {
  for (
    const [option, value] of [["--log-file", "/ann/miner.log"], ["--log-file=/log", ""], ["--data", "/ann/"], [
      "--data",
      "/",
    ]]
  ) {
    const machine = new FakeMachine({ unshare: 0 });
    const { code, stderr } = await run(["install", ...role, option!, ...value === "" ? [] : [value!]], machine);
    assertEquals(code, 2, stderr);
    assertMatch(stderr, /The service may write to every file of '\/(ann)?'.* that includes your home '\/ann'/);
    assertEquals([machine.files.size, machine.folders.length], [0, 0]);
  }
});

Deno.test("Service: in a container the file is written and the person reads what to type", async () => {
  const machine = new FakeMachine({ systemctl: 1 });
  const { code, stdout, stderr } = await run(["install", ...role], machine);
  assertEquals([code, machine.files.size], [0, 1]);
  assertMatch(stderr, /systemctl is not available to this user here/);
  assertStringIncludes(stdout, "\n  systemctl --user enable iota-miner\n");
});

Deno.test("Service: a manager that refuses is quoted, with the next step", async () => {
  const machine = new FakeMachine({ "systemctl --user enable": 1, systemctl: 0 });
  const { code, stderr } = await run(["install", ...role], machine);
  assertEquals(code, 1);
  assertMatch(stderr, /'systemctl --user enable iota-miner' failed: says systemctl --user enable/);
});

Deno.test("Service: status, logs and remove find the service by its name, and say when there is none", async () => {
  const machine = new FakeMachine({ systemctl: 0, journalctl: 0 });
  for (const action of ["status", "logs", "remove"]) {
    const { code, stderr } = await run([action], machine);
    assertEquals(code, 1);
    assertMatch(stderr, /There is no service iota-miner .*\n.*iota service install/s);
  }
  await run(["install", ...role], machine);
  assertEquals((await run(["status"], machine)).code, 0);
  assertEquals((await run(["logs", "--lines", "7", "--follow"], machine)).code, 0);
  assertEquals(machine.ran.at(-1), "journalctl --user --no-pager --unit=iota-miner --lines=7 --follow");
  assertEquals((await run(["remove"], machine)).code, 0);
  assertEquals([machine.files.size, machine.ran.at(-1)], [0, "systemctl --user disable --now iota-miner"]);
});

Deno.test("Service: without a name it is the only one installed", async () => {
  const machine = new FakeMachine({ systemctl: 0, journalctl: 0 });
  await run(["install", "--", "orchestrate", "--data", "/ann/own"], machine);
  assertEquals((await run(["status"], machine)).code, 0);
  assertEquals((await run(["logs"], machine)).code, 0);
  assertEquals(machine.ran.at(-1), "journalctl --user --no-pager --unit=iota-orchestrate --lines=50");
  await run(["install", ...role], machine);
  const either = await run(["status"], machine);
  assertMatch(
    either.stderr,
    /Several .* installed: iota-miner, iota-orchestrate\s+next {2}Name one: --name iota-miner/,
  );
});

Deno.test("Service: a wrong address is refused, and a wallet that is not there yet is said", async () => {
  const machine = new FakeMachine({ systemctl: 0, unshare: 0 });
  const wrong = await run(["install", "--dry-run", "--", "miner", "--orchestrator", "htp://x"], machine);
  assertMatch(wrong.stderr, /--orchestrator must be an address or an invite/);
  const { code, stderr } = await run(["install", "--dry-run", "--", "miner", "--wallet", "nosuch"], machine);
  assertEquals(code, 0, stderr);
  assertMatch(stderr, /cannot start yet: there is no hotkey at .*nosuch.* iota wallet new --name nosuch/);
});

Deno.test("Service: on a Mac the role keeps its own log, which logs shows with the system's tail", async () => {
  const machine = new FakeMachine({ launchctl: 0, tail: 0 });
  const { code } = await run(["install", "--name", "night", ...role], machine, { isMac: true });
  assertEquals(code, 0);
  assertEquals([...machine.files.keys()], ["/ann/Library/LaunchAgents/iota.night.plist"]);
  const log = "/ann/Library/Application Support/iota/logs/iota-night.log";
  assertEquals((await run(["logs", "--name", "night", "--lines", "2", "--follow"], machine, { isMac: true })).code, 0);
  assertEquals(machine.ran.at(-1), `tail -n 2 -F ${log}`);
  await run(["install", "--name", "day", ...role, "--log-file=day.log"], machine, { isMac: true });
  await run(["logs", "--name", "day"], machine, { isMac: true });
  assertEquals(machine.ran.at(-1), `tail -n 50 ${Deno.cwd()}/day.log`);
});

Deno.test("Service: what cannot be a service is refused before anything is written", async () => {
  const machine = new FakeMachine({ systemctl: 0 });
  const refused: [string[], RegExp][] = [
    [["install"], /must be one of miner, validate, orchestrate; none is given/],
    [["install", "--", "wallet", "list"], /it is 'wallet'/],
    [["install", "--", "miner", "--walet", "x"], /Did you mean --wallet/],
    [["install", "--name", "../x", "--", "miner"], /lower-case letters, digits and dashes/],
    [[], /needs an action: install, status, logs, remove/],
  ];
  for (const [words, says] of refused) {
    const { code, stderr } = await run(words, machine);
    assertEquals(code, 2, stderr);
    assertMatch(stderr, says);
  }
  assertEquals([machine.files.size, machine.ran], [0, []]);
});
