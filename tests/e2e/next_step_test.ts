/**
 * Every error gives a next step, and the step works when pasted. Errors are provoked in real processes; each command
 * and each option in their next steps is then given to the program, in a folder whose name a shell would split.
 */

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { iota } from "../support/process/iota_process.ts";
import { commandsIn, optionsIn, understand } from "../support/process/pasted_commands.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";

interface Provoked {
  readonly words: readonly string[];
  readonly says: RegExp; // the rule and the value
  readonly pastes?: boolean; // its next step has something to paste
}

function provoked(at: (name: string) => string, corpus: string): Provoked[] {
  const wallets = ["--wallet-path", at("wallets")];
  const toy = ["--size", "toy", "--corpus", corpus];
  return [
    { words: ["orchestrat"], says: /no command 'orchestrat'. Did you mean orchestrate/, pastes: true },
    { words: ["chain", "regster"], says: /no command 'chain regster'. Did you mean register/, pastes: true },
    { words: ["register"], says: /no command 'register'. Did you mean chain register/, pastes: true },
    { words: ["swarm", "--stepz", "3"], says: /has no option --stepz/, pastes: true },
    { words: ["swarm", "--set", "train.steps"], says: /Each entry of --set must be PATH=VALUE/, pastes: true },
    { words: ["swarm", "--set", "train.stepz=3"], says: /did you mean train\.steps/, pastes: true },
    { words: ["swarm", "--chaos", "kill-everybody"], says: /must begin with one of/, pastes: true },
    { words: ["wallet"], says: /needs an action/, pastes: true },
    { words: ["chain"], says: /needs an action/, pastes: true },
    { words: ["config"], says: /needs an action/, pastes: true },
    { words: ["service"], says: /needs an action/, pastes: true },
    { words: ["config", "check"], says: /The FILE to check is missing/, pastes: true },
    { words: ["config", "init", at("run.toml")], says: /already exists/, pastes: true },
    { words: ["config", "init", "--size", "huge", at("new.toml")], says: /must be one of/, pastes: true },
    { words: ["orchestrate", "--config", at("miner.toml")], says: /not the settings of a run/, pastes: true },
    { words: ["miner", "--config", at("run.toml")], says: /not options of that command/, pastes: true },
    { words: ["generate", "--config", at("run.toml")], says: /not options of that command/, pastes: true },
    { words: ["orchestrate", "--config", at("wrong.toml")], says: /hub\.port must be/, pastes: true },
    {
      words: ["orchestrate", ...toy, "--set", "model.vocabSize=4096", "--data", at("v")],
      says: /enough for only \d+/,
      pastes: true,
    },
    { words: ["orchestrate", ...toy, "--tls-cert", at("run.toml")], says: /without --tls-key/, pastes: true },
    {
      words: ["orchestrate", ...toy, "--tls-cert", at("run.toml"), "--tls-key", at("run.toml")],
      says: /PEM/,
      pastes: true,
    },
    { words: ["orchestrate", ...toy, "--public-address", "http://x"], says: /machines cannot dial/, pastes: true },
    { words: ["orchestrate", ...toy, "--host", "203.0.113.9", "--data", at("h")], says: /does not have that address/ },
    { words: ["orchestrate", ...toy, "--data", at("held")], says: /which names the run, is missing/ },
    { words: ["orchestrate", "--resume", "--data", at("none")], says: /holds no run/ },
    { words: ["orchestrate", "--resume", "--fresh", "--data", at("held")], says: /exclude each other/ },
    { words: ["miner", "--wallet", "no body", ...wallets, "--data", at("m")], says: /no body/, pastes: true },
    {
      words: ["miner", "--orchestrator", "ftp://what", "--wallet", "hot", ...wallets],
      says: /must be an address/,
      pastes: true,
    },
    { words: ["miner", "--hub", "nobody", "--wallet", "hot", ...wallets], says: /ss58 address/ },
    {
      words: ["miner", "--schedule", "sometimes", "--wallet", "hot", ...wallets],
      says: /must be like/,
      pastes: true,
    },
    { words: ["miner", "--listen", "here", "--wallet", "hot", ...wallets], says: /must be HOST:PORT/, pastes: true },
    { words: ["miner", "--tls-ca", at("none.pem"), "--wallet", "hot", ...wallets], says: /it does not exist/ },
    { words: ["generate", "--run", at("none")], says: /neither a complete checkpoint/, pastes: true },
    {
      words: ["generate", "--run", at("held/checkpoints")],
      says: /the run's own folder: --run '.*held'$/m,
      pastes: true,
    },
    { words: ["generate", "--data", at("empty")], says: /neither a complete checkpoint/, pastes: true },
    { words: ["wallet", "new", "--name", "hot", ...wallets], says: /hot/, pastes: true },
    { words: ["wallet", "show", "--name", "no body", ...wallets], says: /no body/, pastes: true },
    { words: ["doctor", "--skip", "everything"], says: /There is no check/ },
    { words: ["chain", "metagraph", "--endpoint", "nowhere"], says: /nowhere/, pastes: true },
    { words: ["chain", "status", "--endpoint", "local"], says: /there is no file at/, pastes: true },
    { words: ["service", "install", "--", "sweep"], says: /must be one of/, pastes: true },
    { words: ["completions", "tcsh"], says: /tcsh/, pastes: true },
  ];
}

Deno.test("Next steps: every provoked error names rule, value and a next step that works when pasted", async (t) => {
  await withScratchFolder(async (folder) => {
    const at = (name: string) => `${folder}/my runs/${name}`;
    await Deno.mkdir(at("held"), { recursive: true });
    const env = { HOME: at("home") };
    const corpus = await writeSmallCorpus(folder);
    await Deno.writeTextFile(at("held/run.toml"), "");
    await Deno.writeTextFile(at("run.toml"), 'size = "toy"\n[train]\nsteps = 3\n');
    await Deno.writeTextFile(at("wrong.toml"), '[hub]\nport = "x"\n');
    await Deno.writeTextFile(at("miner.toml"), 'orchestrator = "ws://10.0.0.5:9009"\n');
    await iota(["wallet", "new", "--name", "hot", "--wallet-path", at("wallets")], env);
    const cases = provoked(at, corpus);
    const ended = await inPairs(cases, ({ words }) => iota(words, env, { cwd: folder })); // where no run is found
    for (const [index, { words, says, pastes = false }] of cases.entries()) {
      await t.step(words.join(" ").replaceAll(folder, "…"), async () => {
        const { code, stderr } = ended[index]!;
        assertNotEquals(code, 0);
        assertMatch(stderr, says);
        const next = /^next {2}([\s\S]+)$/m.exec(stderr)?.[1]?.trim() ?? "";
        assert(next !== "", `a next step stands in: ${stderr}`);
        const pasted = commandsIn(next);
        const added = (await optionsIn(next)).map((option) => [...without(words, ["--stepz", option[0]!]), ...option]);
        if (pastes) assert(pasted.length + added.length > 0, `something to paste stands in: ${next}`);
        for (const command of pasted) {
          const { code, said } = await understand(command, env);
          assertEquals(code === 2 ? said : "", "", `iota ${command.join(" ")}, of: ${next}`);
        }
        for (const command of added.filter(() => code !== 2)) {
          const { code, said } = await understand(command, env);
          assertEquals(code === 2 ? said : "", "", `iota ${command.join(" ")}, of: ${next}`);
        }
      });
    }
  });
});

/** An option may be given once: the new value takes the place of the old one. */
function without(words: readonly string[], options: readonly string[]): string[] {
  return words.filter((word, i) => {
    const isValue = options.includes(words[i - 1] ?? "") && !word.startsWith("--");
    return !options.includes(word) && !isValue;
  });
}

/** Two at a time. */
async function inPairs<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let i = 0; i < items.length; i += 2) results.push(...await Promise.all(items.slice(i, i + 2).map(work)));
  return results;
}
