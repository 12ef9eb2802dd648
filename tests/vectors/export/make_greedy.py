"""Makes greedy.json: the likeliest tokens that llama.cpp continues prompts with, by GGUF files of llama and llama-rope here.

Run from the repository's root, with Node 20 (it installs node-llama-cpp into a temporary folder):
    ./iota export --model tests/vectors/export/llama --gguf --out /tmp/gguf/llama
    ./iota export --model tests/vectors/export/llama-rope --gguf --out /tmp/gguf/llama-rope
    python tests/vectors/export/make_greedy.py /tmp/gguf
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

package = "node-llama-cpp@3.22.1"
prompts = ["The people", "a", "Whereas", "of 1789", "\u00e9!"]
program = """
import { getLlama } from "node-llama-cpp";
const [path, prompts] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: "never" });
const model = await llama.loadModel({ modelPath: path });
const found = {};
for (const prompt of JSON.parse(prompts)) {
  const context = await model.createContext({ contextSize: 32 });
  found[prompt] = [];
  for await (const token of context.getSequence().evaluate(model.tokenize(prompt), { temperature: 0 })) {
    found[prompt].push(Number(token));
    if (found[prompt].length >= 10) break;
  }
  await context.dispose();
}
console.log(JSON.stringify(found));
process.exit(0);
"""

here = pathlib.Path(__file__).parent
models = {}
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    pathlib.Path(folder, "greedy.mjs").write_text(program)
    for path in sorted(pathlib.Path(sys.argv[1]).resolve().glob("*/model.gguf")):
        command = ["node", "greedy.mjs", str(path), json.dumps(prompts)]
        lines = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        models[path.parent.name] = {"sha256": sha256, "greedy": json.loads(lines[-1])}
(here / "greedy.json").write_text(json.dumps({"package": package, "models": models}, indent=1) + "\n")
