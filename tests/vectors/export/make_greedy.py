"""Makes greedy.json: the likeliest tokens that llama.cpp continues prompts with, by the GGUF file of tests/vectors/export/llama.

Run from the repository's root, with Node 20 (it installs node-llama-cpp into a temporary folder):
    ./iota export --model tests/vectors/export/llama --gguf --out /tmp/gguf
    python tests/vectors/export/make_greedy.py /tmp/gguf/model.gguf
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

path = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    pathlib.Path(folder, "greedy.mjs").write_text(program)
    command = ["node", "greedy.mjs", str(path), json.dumps(prompts)]
    lines = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
result = {"package": package, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "greedy": json.loads(lines[-1])}
(pathlib.Path(__file__).parent / "greedy.json").write_text(json.dumps(result, indent=1) + "\n")
