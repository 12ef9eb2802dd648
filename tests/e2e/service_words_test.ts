/** `iota service install`: the role's command line is read as the role itself reads it, file and all. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { main } from "../../cli/command_line.ts";
import { FakeHost } from "../support/fake_host.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const env = { HOME: "/ann", USER: "ann", IOTA_PROGRAM: "/ann/bin/iota" };

async function install(...words: string[]) {
  const host = new FakeHost({ env });
  const code = await main(["service", "install", "--dry-run", ...words], host);
  return { code, ...host.written };
}

async function inFolder(files: Readonly<Record<string, string>>, body: (folder: string) => Promise<void>) {
  await withScratchFolder(async (folder) => {
    const home = Deno.cwd();
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${name}`, text);
    Deno.chdir(folder);
    try {
      await body(Deno.cwd());
    } finally {
      Deno.chdir(home);
    }
  });
}

const line = (text: string, name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1];

Deno.test("Service: a file that the role refuses is refused before there is a unit", async () => {
  const files = {
    "run.toml": 'size = "toy"\n[train]\nsteps = 3\n',
    "wrong.toml": 'wallet = "hot"\nwalet = "x"\n',
    "tls.toml": '[hub]\ntlsCert = "cert.pem"\n',
    "late.toml": 'schedule = "at night"\n',
    "rules.toml": 'size = "toy"\n[model]\nwidth = 64\nheads = 7\n',
  };
  await inFolder(files, async () => {
    const refused: [string[], RegExp][] = [
      [["miner", "--config", "run.toml"], /it holds the settings of a run/],
      [["validate", "--config", "run.toml"], /it holds the settings of a run/],
      [["miner", "--config", "wrong.toml"], /wrong\.toml:2: This command has no option walet/],
      [["miner", "--config", "none.toml"], /Cannot read the configuration '.*': it does not exist/],
      [["miner", "--config", "late.toml"], /Cannot use --schedule/],
      [["miner", "--chain", "nowhere"], /Cannot use the chain endpoint 'nowhere'/],
      [["miner", "--give-up-after", "soon"], /--give-up-after/],
      [["miner", "--quiet", "--verbose"], /--quiet and --verbose exclude each other/],
      [["orchestrate", "--config", "rules.toml"], /rules\.toml:\d+: model\.width must be divisible by model\.heads/],
      [["orchestrate", "--corpus", "none.txt"], /Cannot read the corpus '.*': it does not exist/],
      [["orchestrate", "--tls-cert", "cert.pem"], /Cannot use --tls-cert without --tls-key/],
      [["orchestrate", "--config", "tls.toml"], /tls\.toml:2: Cannot use hub\.tlsCert without hub\.tlsKey/],
      [["orchestrate", "--resume", "--data", "own"], /Cannot resume: '.*' holds no run/],
    ];
    for (const [words, says] of refused) {
      const { code, stdout, stderr } = await install("--", ...words);
      assertMatch(stderr, says, words.join(" "));
      assertEquals([code === 0, stdout], [false, ""], words.join(" "));
    }
  });
});

Deno.test("Service: the unit may write where the role's file says", async () => {
  const files = {
    "run.toml": 'size = "toy"\n[hub]\nlogFile = "logs/hub.log"\n',
    "miner.toml": 'wallet = "hot"\ndata = "own"\nlog-file = "notes/miner.log"\n',
  };
  await inFolder(files, async (here) => {
    const hub = await install("--", "orchestrate", "--config", "run.toml");
    assertStringIncludes(line(hub.stdout, "ReadWritePaths") ?? hub.stdout, `-${here}/logs`);
    const miner = await install("--", "miner", "--config", "miner.toml");
    assertEquals(line(miner.stdout, "ReadWritePaths"), `-${here}/own -${here}/notes`, miner.stdout);
    assertMatch(line(miner.stdout, "ExecStart")!, new RegExp(` --log-file ${here}/notes/miner.log$`));
    const typed = await install("--", "miner", "--config", "miner.toml", "--log-file", "typed/miner.log");
    assertEquals(line(typed.stdout, "ReadWritePaths"), `-${here}/own -${here}/typed`);
    assertEquals(line(typed.stdout, "ExecStart")!.split("--log-file").length, 2);
  });
});

Deno.test("Service: a role's option before -- is rejected, and the next step has it after", async () => {
  await inFolder({ "run.toml": 'size = "toy"\n' }, async () => {
    const refused: [string[], RegExp][] = [
      [["orchestrate", "--data", "own"], /next {2}Type it behind the role: .* -- ROLE --data/],
      [["--data=own", "--", "miner"], /next {2}Type it behind the role: .* -- ROLE --data/],
      [["miner", "--data", "own"], /next {2}Type it behind the role: .* -- ROLE --data/],
      [["miner", "--wallet", "hot"], /This command has no option --wallet\n.*next {2}See iota help service install/],
    ];
    for (const [words, says] of refused) {
      const { code, stderr } = await install(...words);
      assertEquals(code, 2, `${words.join(" ")}: ${stderr}`);
      assertMatch(stderr, says);
    }
  });
});

Deno.test("Service: help says which roles take a new version, and their units agree", async () => {
  const host = new FakeHost({ env });
  await main(["help", "service", "install"], host);
  assertMatch(host.written.stdout.replaceAll(/\s+/g, " "), /an orchestrator keeps its version until/);
  for (const role of ["miner", "validate", "orchestrate"]) {
    const { stdout } = await install("--", role);
    assertEquals(line(stdout, "ExecStart")!.includes("--auto-restart"), role !== "orchestrate");
  }
});
