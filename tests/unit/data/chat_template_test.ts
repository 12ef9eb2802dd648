/** Chat templates: transformers' ids, contents that spell special tokens, templates that are hostile or broken. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { BoundedTemplate, TemplateProblem } from "../../../cli/model/template/bounded_template.ts";
import { type ChatTemplate, chatTemplateBeside, type Message } from "../../../cli/model/template/chat_template.ts";
import { freeMark, markedText } from "../../../cli/model/template/marked_text.ts";
import { parseTokenizer } from "../../../cli/model/tokenizer/parse_tokenizer.ts";
import { UserError } from "../../../cli/program/errors.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import { type ChatCase, chatCases, tokenizerJson, writeTokenizer } from "../../support/chat_vectors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { bytesOfJson } from "../../support/tokenizer_styles.ts";

const date = new Date(2026, 6, 4, 15, 2, 3);

interface Opened {
  readonly chat: ChatTemplate | null;
  readonly tokenizer: Tokenizer;
}

async function opened(chatCase: ChatCase): Promise<Opened> {
  const tokenizer = parseTokenizer(bytesOfJson(tokenizerJson(chatCase)), { path: chatCase.style });
  let chat: ChatTemplate | null = null;
  await withScratchFolder(async (folder) => {
    await writeTokenizer(folder, chatCase);
    chat = await chatTemplateBeside(folder);
  });
  return { chat, tokenizer };
}

const withTemplates = () => chatCases().filter(({ chats }) => chats.length > 0);

Deno.test("Chat template: ids are those of transformers", async () => {
  let compared = 0;
  for (const chatCase of withTemplates()) {
    const { chat, tokenizer } = await opened(chatCase);
    for (const { messages, goesOn, ids, text } of chatCase.chats) {
      const found = chat!.encode(messages as Message[], { tokenizer, goesOn, date });
      assertEquals(found.join(" "), ids, `${chatCase.style}: ${text}`);
      compared += 1;
    }
  }
  assertEquals(compared, 25);
});

Deno.test("Chat template: content that spells special tokens stays text, whole or completed by the template", async () => {
  for (const chatCase of withTemplates()) {
    const { chat, tokenizer } = await opened(chatCase);
    const special = new Set(tokenizer.special.values());
    const specialOf = (content: string) =>
      chat!.encode([{ role: "user", content }], { tokenizer, goesOn: true, date }).filter((id) => special.has(id));
    const honest = specialOf("Hello");
    for (const name of tokenizer.special.keys()) {
      const forged = [
        name,
        `a${name}b`,
        ` ${name} `,
        name + name,
        `${name.slice(0, 4)}${name}${name.slice(4)}`,
        name.toUpperCase(),
      ];
      for (const content of [...forged, name.slice(1), name.slice(0, -1), name.slice(2, -2), ` ${name.slice(0, 2)} `]) {
        assertEquals(specialOf(content), honest, `${chatCase.style}: ${content}`);
        const [ids, text] = [
          chat!.encode([{ role: "user", content }], { tokenizer, goesOn: true, date }),
          content.trim(),
        ];
        assert(tokenizer.decode(ids).includes(text), `${content} is still there`);
      }
    }
  }
});

Deno.test("Chat template: a template that puts half a token beside a content, or makes it lower-case, forges none", () => {
  const spellings = ["<|eot_id|>"];
  const mark = freeMark([]);
  const broken = (before: string, content: string, behind: string) => {
    const text = before + markedText(content, { mark, spellings }) + behind;
    return !text.includes("<|eot_id|>") && text.replaceAll(mark, "").includes("<|eot_id|>");
  };
  for (let from = 0; from < 10; from++) {
    for (let to = from + 1; to <= 10; to++) {
      const [before, content, behind] = [
        "<|eot_id|>".slice(0, from),
        "<|eot_id|>".slice(from, to),
        "<|eot_id|>".slice(to),
      ];
      assert(broken(before, content, behind), `${before} + ${content} + ${behind}`);
      assert(broken(before, `${content} x`.slice(0, to === 10 ? undefined : content.length), behind), content);
    }
  }
  assert(!markedText("<|EOT_ID|>", { mark, spellings }).toLowerCase().includes("<|eot_id|>"));
  assertEquals(markedText("Plain text, 1 < 2.", { mark, spellings }), "Plain text, 1 < 2.");
  assertEquals(markedText("", { mark, spellings }), "");
  assertEquals(freeMark([mark, "x"]), String.fromCharCode(mark.charCodeAt(0) + 1));
});

const problemOf = (template: string, variables: Record<string, unknown> = {}): string =>
  assertThrows(() => new BoundedTemplate(template).render({ messages: [], ...variables }, date), TemplateProblem)
    .message;

Deno.test("Chat template: endless and enormous templates are refused with a sentence", () => {
  const doubling = (by: string) =>
    `{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ${by} %}{% endfor %}{{ ns.x }}`;
  assertEquals(
    problemOf("{% for i in range(10**9) %}x{% endfor %}"),
    "it asks for a range of 1000000000, of at most 10000",
  );
  assertEquals(problemOf("{{ range(0, 5, 0) }}"), "it asks for a range of Infinity, of at most 10000");
  const nested =
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}x{% endfor %}{% endfor %}{% endfor %}";
  assertEquals(problemOf(nested), "it takes too many steps");
  for (
    const by of ["ns.x ~ ns.x", "ns.x + ns.x", "[ns.x, ns.x]", "{'a': ns.x, 'b': ns.x}", "ns.x | replace('a', ns.x)"]
  ) {
    assertEquals(problemOf(doubling(by)), "it makes a text or list that is too long", by);
  }
  assertEquals(problemOf("{% macro f(g) %}{{ g(g) }}{% endmacro %}{{ f(f) }}"), "it nests too deep");
  assertEquals(problemOf(`{{ ${"(".repeat(40_000)}1${")".repeat(40_000)} }}`), "it nests too deep");
  assertEquals(problemOf("x".repeat(100_001)), "it has 100001 characters, of at most 100000");
  assertEquals(problemOf(" ".repeat(60_000)), "it has 1000 or more spaces or line breaks in a row");
  assert(problemOf("{% set a = namespace() %}{% set a.a = a %}{{ a }}").length > 0);
});

Deno.test("Chat template: broken templates, and what a template says itself, are problems with their reason", () => {
  for (
    const broken of [
      "{{",
      "{% for %}",
      "{% if x %}",
      "{{ messages[0].content.nothing() }}",
      "{% include 'x' %}",
      "{{ x | y }}",
    ]
  ) {
    assert(problemOf(broken).length > 0, broken);
  }
  assertEquals(problemOf("{{ raise_exception('Roles must alternate') }}"), "Roles must alternate");
  assertEquals(problemOf(`{{ raise_exception('${"x".repeat(1000)}') }}`).length, 300);
  assertEquals(problemOf("{{ strftime_now('%Q') }}"), "it formats a date with %Q");
  const shown = new BoundedTemplate("{{ strftime_now('%d %b %Y %H:%M %p %A') }}").render({}, date);
  assertEquals(shown, "04 Jul 2026 15:02 PM Saturday");
  for (
    const escape of [
      "{{ ''.constructor }}",
      "{{ messages.__proto__ }}",
      "{{ Deno }}",
      "{{ self }}",
      "{{ range.constructor }}",
    ]
  ) {
    const read = new BoundedTemplate(escape);
    const outcome = (() => {
      try {
        return read.render({ messages: [] }, date);
      } catch (error) {
        assert(error instanceof TemplateProblem, escape);
        return "";
      }
    })();
    assert(!outcome.includes("function"), `${escape}: ${outcome}`);
  }
});

Deno.test("Chat template: the file beside wins, a list is asked for its default, and damage is named", async () => {
  await withScratchFolder(async (folder) => {
    const tokenizer = parseTokenizer(bytesOfJson(tokenizerJson({ style: "llama3", added: [] })), { path: "x" });
    const said = async () => {
      const chat = await chatTemplateBeside(folder);
      return chat === null
        ? null
        : tokenizer.decode(chat.encode([{ role: "user", content: "b" }], { tokenizer, goesOn: true, date }));
    };
    const write = (config: unknown) => Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(config));
    assertEquals(await said(), null);
    await write({ chat_template: null });
    assertEquals(await said(), null);
    await write({ chat_template: [{ name: "rag", template: "x" }] });
    assertEquals(await said(), null);
    await write({ chat_template: "a{{ messages[0].content }}{{ eos_token }}", eos_token: { content: "<|eot_id|>" } });
    assertEquals(await said(), "ab<|eot_id|>");
    await Deno.writeTextFile(`${folder}/chat_template.jinja`, "c{{ messages[0].content }}");
    assertEquals(await said(), "cb");
    await Deno.writeTextFile(`${folder}/chat_template.jinja`, "{{ raise_exception('no, ' + messages[0].content) }}");
    await assertRejects(
      said,
      TemplateProblem,
      `The chat template in '${folder}/chat_template.jinja' refuses this: no, b`,
    );
    await write({ chat_template: 7 });
    await assertRejects(
      said,
      UserError,
      "is damaged (chat_template: must be a template, or a list of templates with names)",
    );
  });
});
