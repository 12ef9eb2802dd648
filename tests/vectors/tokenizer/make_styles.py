"""Small tokenizers in the styles of well-known models, and the ids that Python's tokenizers gives with them.

Writes styles.jsonl beside this file: a line with the texts, then one for each style with its tokenizer.json. All texts
are below; nothing is read but text.txt.
"""

import json
import random
import unicodedata
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = Path(__file__).parent
english = (here / "text.txt").read_text()
others = [
    "ภาษาไทยไม่มีช่องว่างระหว่างคำ น้ำใจ", "اللغة العربية، مُحَمَّد ١٢٣", "नमस्ते दुनिया हिन्दी की क्षमता १२३४",
    "日本語のテキスト、カタカナとひらがな。", "中文文本没有空格。你好，世界！", "Привет, мир! Это русский текст.",
    "Straße, naïve café, Ελληνικά, İstanbul", "한국어 텍스트입니다", "👨‍👩‍👧 👍🏽 🇩🇪 🙂",
]
code = "def f(x):\n    return x ** 2  # square\n\nclass A:\n\tpass\r\n\r\nfor (int i = 0; i < 10; ++i) { a[i] += 1; }\n"
corpus = [english, *others * 4, code * 8]

llama3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
qwen2 = llama3.replace(r"\p{N}{1,3}", r"\p{N}")
upper, lower = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
ends = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
gpt4o = "|".join([
    rf"[^\r\n\p{{L}}\p{{N}}]?[{upper}]*[{lower}]+{ends}", rf"[^\r\n\p{{L}}\p{{N}}]?[{upper}]+[{lower}]*{ends}",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])
possessive = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
deepseek3 = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


byte_level = lambda use_regex=False, space=False: pre_tokenizers.ByteLevel(add_prefix_space=space, use_regex=use_regex)
in_turn = lambda *steps: pre_tokenizers.Sequence(list(steps))
digits = lambda alone: pre_tokenizers.Digits(individual_digits=alone)
special = lambda text: AddedToken(text, special=True, normalized=False)
plain = lambda text, **more: AddedToken(text, special=False, **more)


def byte_bpe(pre_tokenizer, *, first=(), last=(), normalizer=None, size=400, alphabet=True, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    initial = pre_tokenizers.ByteLevel.alphabet() if alphabet else []
    tokenizer.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=size, special_tokens=list(first), initial_alphabet=initial, show_progress=False)
    )
    tokenizer.add_tokens(list(last))
    return tokenizer


def piece_bpe(*, pre_tokenizer, normalizer, decoder, byte_fallback=True, last=(), size=400):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=byte_fallback))
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tokenizer.train_from_iterator(
        [english, code * 8],
        trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", "<s>", "</s>", *bytes_], show_progress=False),
    )
    file = json.loads(tokenizer.to_str())
    file["added_tokens"] = file["added_tokens"][:3]  # bytes are ordinary tokens
    tokenizer = Tokenizer.from_str(json.dumps(file))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    else:
        file = json.loads(tokenizer.to_str())
        file["normalizer"] = None
        tokenizer = Tokenizer.from_str(json.dumps(file))
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    else:
        file = json.loads(tokenizer.to_str())
        file["pre_tokenizer"] = None
        tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.decoder = decoder
    tokenizer.add_tokens(list(last))
    return tokenizer


llama2_decoder = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
)
styles = {
    "gpt2": byte_bpe(byte_level(True), last=[special("<|endoftext|>")]),
    "gpt2-space": byte_bpe(byte_level(True, True), first=[special("<s>"), special("</s>")]),
    "gpt-neox": byte_bpe(
        byte_level(True), first=[special("<|endoftext|>")], normalizer=normalizers.NFC(),
        last=[plain(" " * n, normalized=True) for n in range(8, 1, -1)],
    ),
    "llama3": byte_bpe(
        in_turn(split(llama3), byte_level()), ignore_merges=True,
        last=[special(t) for t in ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|reserved|>"]],
    ),
    "qwen2": byte_bpe(
        in_turn(split(qwen2), byte_level()), normalizer=normalizers.NFC(),
        last=[special("<|endoftext|>"), special("<|im_end|>"), plain("<think>", normalized=False), plain("<tool_call>")],
    ),
    "gpt4o": byte_bpe(in_turn(split(gpt4o), byte_level()), last=[special("<|endoftext|>")]),
    "gpt4-inverted": byte_bpe(
        in_turn(split(possessive, "removed", True), byte_level()), last=[special("<|endoftext|>")]
    ),
    "smollm": byte_bpe(in_turn(digits(True), byte_level(True)), first=[special("<|endoftext|>"), special("<|im_end|>")]),
    "digit-runs": byte_bpe(
        in_turn(digits(False), split(r"\d{1,3}"), byte_level()), alphabet=False, unk_token="<unk>", fuse_unk=True,
        first=[special("<unk>"), special("</s>")],
    ),
    "deepseek": byte_bpe(
        in_turn(
            split(r"[\r\n]"), split(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ]+"),
            split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"), split(r"\s+$"), split(r"[一-龥ࠀ-一가-퟿]+"), digits(True), byte_level(),
        ),
        last=[special("<｜begin▁of▁sentence｜>"), special("<｜end▁of▁sentence｜>")],
    ),
    "deepseek3": byte_bpe(
        in_turn(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(deepseek3), byte_level()),
        first=[special("<｜end▁of▁sentence｜>")], last=[plain("｜tool｜", single_word=True), plain("n’e", lstrip=True, rstrip=True)],
    ),
    "llama2": piece_bpe(
        normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), pre_tokenizer=None,
        decoder=llama2_decoder,
    ),
    "mistral": piece_bpe(
        normalizer=None, decoder=llama2_decoder, last=[special("[INST]"), plain("<tool>", normalized=False)],
        pre_tokenizer=pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False),
    ),
    "metaspace": piece_bpe(
        normalizer=normalizers.NFKC(), pre_tokenizer=pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True),
        decoder=decoders.Metaspace("▁", prepend_scheme="always"), byte_fallback=False,
    ),
    "gemma": piece_bpe(
        normalizer=normalizers.Replace(" ", "▁"), pre_tokenizer=pre_tokenizers.Split(" ", "merged_with_previous"),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
        last=[plain("\n\n", normalized=False), plain("\n\n\n", normalized=False)],
    ),
}
styles["llama3"].post_processor = processors.TemplateProcessing(
    single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", styles["llama3"].token_to_id("<|begin_of_text|>"))]
)


def with_holes(tokenizer):
    """Ids far apart and out of order, as in no file that a trainer writes."""
    file = json.loads(tokenizer.to_str())
    vocab = file["model"]["vocab"]
    file["model"]["vocab"] = {token: 3000 - 7 * id for token, id in vocab.items()}
    for added in file["added_tokens"]:
        added["id"] = 3000 - 7 * vocab[added["content"]] if added["content"] in vocab else added["id"]
    return Tokenizer.from_str(json.dumps(file))


styles["holes"] = with_holes(styles["smollm"])

texts = [
    "", " ", "  ", "\n", "Hello, world! It's we'll they've I'm you'd", "IT'S WE'LL THEY'VE I'M YOU'D I'LL'S it'ſ x'Ll 'tis",
    "1 12 123 1234 12345 123456 1234567 3.14 1,000 x1y22z333 ½ Ⅷ ١٢٣٤ १२३४ ²³",
    "  two  spaces \n\n line\tbreaks \r\n\r\n end  ", "\r\n\r\n\n  \n   x\n", "a\r\rb \r\n \r\n c   ", "trailing spaces   ", "   leading",
    *others, code, "a\u00a0b\u2028c\u200bd\u3000e\u2029 \u00a0 x", "\u0085x\ufeffy \u0085\u0085z \ufeff\ufeff", "\x00\x01\x1f\x7f\x80",
    unicodedata.normalize("NFD", "Ångström café naïve 각 が Ω"), "\u212b \u2126 ﬁ ﬆ ℌ ①", "ประเทศไทย๑๒๓กำ", "क्‍ष श्र", "ﷺ مرحبا\u200fabc",
    "end<|endoftext|> start<|endoftext|><|eot_id|><|im_end|></s><s> [INST] x <｜end▁of▁sentence｜>",
    "<think>a</think> <tool_call>b<tool>c <think <<think>>", "x｜tool｜y ｜tool｜ a  n’e  b n’e xn’ey", "\n\n\n\n\n a\n\n\nb", "▁a ▁▁b▁ c", "_a__b",
    "HelloWorld camelCASEWord XMLHttpRequest ABCdef'S", "price: $5.00/€3 (50%)…\n// comment/\n---\n", "a" * 110,
    "the" * 35, "                         deep", "tab\t\t\tx \t \t", "😀😃 👩🏽‍🚀🏳️‍🌈 ❤️", "🇩🇪" * 3, "\U0001d400\U0010ffff\ue000", "e\u0301\u0301 \u0301x",
    "don't DON'T Don'T ’s ‘t", "http://example.org/a?b=c&d=%20", "ÀÉÎõü ß ẞ ǅ ŉ", "<0x0A> <0xFF>", "été\x0bvt\x0cff", 
]
pool = [*"  \n\r\t'sStTlLaAbB01９\u00a0\u0085\u200d\u0301éßſ中ไ한👍.,<>|/▁_-", "\r\n", "'ll", "'RE", "the", " of", "<think>", "</s>"]
chance = random.Random(7)
texts += ["".join(chance.choice(pool) for _ in range(chance.randint(1, 32))) for _ in range(12)]

lines = [{"texts": texts}]
for name, tokenizer in styles.items():
    file = json.loads(tokenizer.to_str())
    if name == "holes":  # and with merges as older versions write them
        file["model"]["merges"] = [" ".join(pair) for pair in file["model"]["merges"]]
    tokenizer.encode_special_tokens = True
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    decoded = [tokenizer.decode(each, skip_special_tokens=False) for each in ids]
    changed = {str(i): there for i, there in enumerate(decoded) if there != texts[i]}
    lines.append({"name": name, "file": file, "ids": [" ".join(map(str, each)) for each in ids], "decoded": changed})
written = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) for line in lines)
(here / "styles.jsonl").write_text("\n".join(written) + "\n")
