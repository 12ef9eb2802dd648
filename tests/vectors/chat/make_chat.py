"""Makes chat.json: what transformers 4.49 makes of prompts and conversations with small tokenizers and chat templates.

The tokenizers are those of ../tokenizer/styles.jsonl with a few more special tokens. The templates are written here in the
shapes that well-known models have. Run with transformers and jinja2; nothing is read but styles.jsonl.
"""

import json
import tempfile
from pathlib import Path

from transformers import AutoTokenizer

here = Path(__file__).parent
lines = (here.parent / "tokenizer" / "styles.jsonl").read_text().splitlines()
styles = {line["name"]: line["file"] for line in map(json.loads, lines[1:])}

llama3 = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message + "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
chatml = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
thinking = """{%- set ns = namespace(last=-1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.last < 0 and message.role == "user" and not (message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == "assistant" and '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {{- '<|im_start|>' ~ message.role ~ '\\n' ~ content ~ '<|im_end|>\\n' }}
    {%- if loop.index0 == ns.last %}{{- '\\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""
mistral = (
    "{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}"
    "{%- set loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}"
    "{{ bos_token }}{%- for message in loop_messages %}"
    "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{- raise_exception('After the optional system message, conversation roles must alternate user/assistant/user') }}"
    "{%- endif %}{%- if message['role'] == 'user' %}"
    "{%- if loop.first and system_message is defined %}{{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}"
    "{%- else %}{{- ' [INST] ' + message['content'] + ' [/INST]' }}{%- endif %}"
    "{%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] + eos_token }}{%- endif %}{%- endfor %}"
)

fast, llama = "PreTrainedTokenizerFast", "LlamaTokenizer"
headers = ["<|start_header_id|>", "<|end_header_id|>"]
cases = [
    ("llama3", headers, {"tokenizer_class": fast, "bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>", "chat_template": llama3}),
    ("qwen2", ["<|im_start|>"], {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "eos_token": "<|im_end|>", "chat_template": chatml}),
    ("qwen2", ["<|im_start|>"], {"tokenizer_class": fast, "eos_token": "<|endoftext|>", "chat_template": [
        {"name": "tool_use", "template": "no"}, {"name": "default", "template": thinking}]}),
    ("mistral", ["[/INST]"], {"tokenizer_class": llama, "add_bos_token": True, "bos_token": "<s>", "eos_token": {"__type": "AddedToken", "content": "</s>"}, "chat_template": mistral}),
    ("llama2", [], {"tokenizer_class": llama, "bos_token": "<s>", "eos_token": "</s>", "chat_template": mistral}),
    ("llama2", [], {"tokenizer_class": llama, "add_bos_token": False, "bos_token": "<s>", "eos_token": "</s>"}),
    ("llama3", [], {"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": False, "bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}),
    ("smollm", [], {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}),
]
prompts = ["", "The people", " of the United States\n", "1790"]
user = lambda content: {"role": "user", "content": content}
assistant = lambda content: {"role": "assistant", "content": content}
system = lambda content: {"role": "system", "content": content}
conversations = [
    [user("Who are the people?")],
    [system("  Be brief. \n"), user("Hello, world!")],
    [user("one"), assistant("two"), user(" three\n\n")],
    [system("Be kind"), user("What is 1 + 1?"), assistant("<think>\nhm\n</think>\n\n2"), user("été 😀 日本"), assistant("x")],
    [user("<tool>a</tool>"), assistant(""), user("")],
]


def with_added(name, more):
    file = json.loads(json.dumps(styles[name]))
    ids = [*file["model"]["vocab"].values(), *(token["id"] for token in file["added_tokens"])]
    for i, content in enumerate(more):
        flags = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
        file["added_tokens"].append({"id": max(ids) + 1 + i, "content": content, "special": True, **flags})
    return file


written = []
for style, more, config in cases:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tokenizer.json").write_text(json.dumps(with_added(style, more)))
        Path(folder, "tokenizer_config.json").write_text(json.dumps(config))
        tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = lambda found: " ".join(map(str, found))
    chats = [
        {
            "messages": messages, "goesOn": messages[-1]["role"] == "user",
            "text": tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=messages[-1]["role"] == "user"),
            "ids": ids(tokenizer.apply_chat_template(messages, add_generation_prompt=messages[-1]["role"] == "user")),
        }
        for messages in conversations if "chat_template" in config
    ]
    written.append({
        "style": style, "added": more, "config": config,
        "prompts": [{"text": text, "ids": ids(tokenizer(text).input_ids)} for text in prompts], "chats": chats,
    })
(here / "chat.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in written) + "\n]\n")
