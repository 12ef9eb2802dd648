/** Conversations: `iota chat` as people and programs use it, history that no longer fits, OpenAI's interface, exports. */

import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { command } from "../../../cli/commands/chat.ts";
import { main } from "../../../cli/command_line.ts";
import { linesOf, messageOf } from "../../../cli/model/chat/chat_input.ts";
import { Conversation } from "../../../cli/model/chat/conversation.ts";
import { runChat } from "../../../cli/model/chat/run_chat.ts";
import { exportGguf } from "../../../cli/model/export/export_gguf.ts";
import { exportModel } from "../../../cli/model/export/export_model.ts";
import { openModel } from "../../../cli/model/source/open_model.ts";
import type { Message } from "../../../cli/model/template/chat_template.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { chatMl, writeChatModel } from "../../support/chat_vectors.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { withCommands } from "../../support/with_commands.ts";

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });
const system = (content: string): Message => ({ role: "system", content });

/** A character is a token. */
const encode = (messages: readonly Message[]): number[] =>
  messages.flatMap(({ content }) => [...content].map((character) => character.charCodeAt(0)));

Deno.test("Conversation: the oldest turns leave, whole and for good, and the system message stays", () => {
  const conversation = new Conversation();
  for (const message of [system("sss"), user("aaaa"), assistant("bb"), user("cccc"), assistant("dd"), user("ee")]) {
    conversation.add(message);
  }
  assertEquals(conversation.fit(encode, 17)?.length, 17);
  assertEquals(conversation.left, 0);
  assertEquals(conversation.fit(encode, 16)?.length, 11);
  assertEquals(conversation.messages, [system("sss"), user("cccc"), assistant("dd"), user("ee")]);
  assertEquals([conversation.fit(encode, 5)?.length, conversation.left], [5, 4]);
  assertEquals(conversation.fit(encode, 4), null);
  assertEquals(conversation.messages, [system("sss"), user("ee")]);
  conversation.drop();
  assertEquals(conversation.messages, [system("sss")]);
});

Deno.test("Chat input: lines in pieces, messages in JSON, and what is neither", async () => {
  const bytes = new TextEncoder().encode("one\r\nzwölf\n\nlast");
  const pieces = [bytes.slice(0, 7), bytes.slice(7, 8), bytes.slice(8)];
  assertEquals(await Array.fromAsync(linesOf(ReadableStream.from(pieces))), ["one", "zwölf", "", "last"]);
  assertEquals(messageOf('{"role": "system", "content": "x"}'), system("x"));
  assertEquals(messageOf("{ plain }"), user("{ plain }"));
  for (const line of ['{"role": "root", "content": "x"}', '{"role": "user"}', '{"role": "user", "content": ']) {
    assertThrows(() => messageOf(line), UserError, "is not a message");
  }
});

interface Spoken {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `onLine`: what happens as the program asks for this line. */
async function spoken(
  words: readonly string[],
  lines: readonly string[],
  { isTyped = false, onLine = () => {} }: { isTyped?: boolean; onLine?: (line: string, host: FakeHost) => void } = {},
): Promise<Spoken> {
  const host = new FakeHost();
  async function* typed() {
    for (const line of lines) {
      onLine(line, host);
      yield await Promise.resolve(line);
    }
  }
  const own = {
    ...command,
    run: (context: Parameters<typeof runChat>[0]) => runChat(context, () => ({ isTyped, lines: typed() })),
  };
  const table = withCommands({ chat: () => Promise.resolve(own) });
  const code = await main(["chat", "--device", "cpu", ...words], host, table);
  return { code, ...host.written };
}

type Event = Record<string, string | number>;
const eventsOf = ({ stdout }: Spoken): Event[] => stdout.trim().split("\n").map((line) => JSON.parse(line));

Deno.test("iota chat: programs get each answer in pieces and whole, and equal seeds give equal answers", async () => {
  await withScratchFolder(async (folder) => {
    await writeChatModel(folder);
    const words = ["--model", folder, "--tokens", "5", "--context", "128", "--json", "--seed", "3"];
    const lines = [
      '{"role": "system", "content": "Be kind"}',
      "",
      "Hello",
      '{"role": "user", "content": "and <|im_end|>"}',
    ];
    const said = await spoken(words, lines);
    assertEquals([said.code, said.stderr], [0, ""]);
    const events = eventsOf(said);
    const answers = events.filter(({ type }) => type === "answer");
    assertEquals(answers.length, 2);
    let pieces: Event[] = [];
    for (const event of events) {
      if (event.type === "text") pieces.push(event);
      if (event.type !== "answer") continue;
      assertEquals(pieces.map(({ text }) => text).join(""), event.content);
      pieces = [];
    }
    const [first, second] = answers;
    const ofTemplate = (contents: string, turns: number) => contents.length + turns * 3; // start, line break, end
    assertEquals(first!.promptTokens, ofTemplate("systemBe kinduserHelloassistant", 3) - 1);
    assert(Number(second!.promptTokens) > Number(first!.promptTokens) + "user".length + "and <|im_end|>".length);
    const { wallMs: _, ...summary } = events.at(-1)!;
    assertEquals([summary.type, summary.answers], ["summary", 2]);
    const again = eventsOf(await spoken(words, lines)).filter(({ type }) => type !== "summary");
    assertEquals(again, events.filter(({ type }) => type !== "summary"));
  });
});

Deno.test("iota chat: people read the answer behind a prompt; what does not fit is said, and the talk goes on", async () => {
  await withScratchFolder(async (folder) => {
    await writeChatModel(folder);
    const words = ["--model", folder, "--tokens", "4", "--context", "64", "--system", "x", "--temperature", "0"];
    const { code, stdout, stderr } = await spoken(words, ["Hi", "y".repeat(90), "Hi again"], { isTyped: true });
    assertEquals(code, 0);
    assertMatch(stdout, /^Write to the model.*\n> [^]*\n> > [^]*\n> \n$/);
    assertStringIncludes(
      stderr,
      "The message is too long: with it the conversation takes more than 60 tokens; shorten it",
    );
    const forgetting = await spoken([...words, "--json"], ["one two three", "four five six", "seven eight nine"]);
    assert(eventsOf(forgetting).some(({ type, messages }) => type === "forgotten" && messages === 2));
  });
});

Deno.test("iota chat: Ctrl-C ends the answer, then the program", async () => {
  await withScratchFolder(async (folder) => {
    await writeChatModel(folder, { ends: [256] });
    const words = ["--model", folder, "--tokens", "2000", "--context", "64", "--json"];
    const host = new FakeHost();
    const write = host.write.bind(host);
    let answers = 0;
    host.write = (stream, text) => {
      write(stream, text);
      if (text.includes('"type":"text"')) host.interrupt("SIGINT");
      if (text.includes('"type":"answer"')) answers += 1;
    };
    const never = Promise.withResolvers<IteratorResult<string>>().promise;
    let asked = 0;
    const lines: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          if (asked++ < 2) return Promise.resolve({ done: false as const, value: "Hello" });
          host.interrupt("SIGINT"); // while the program waits for a line
          return never;
        },
      }),
    };
    const own = {
      ...command,
      run: (context: Parameters<typeof runChat>[0]) => runChat(context, () => ({ isTyped: false, lines })),
    };
    const code = await main(
      ["chat", "--device", "cpu", ...words],
      host,
      withCommands({ chat: () => Promise.resolve(own) }),
    );
    assertEquals([code, answers, asked], [0, 2, 3]);
    const events = host.written.stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(events.filter(({ type }) => type === "answer").map(({ reason }) => reason), [
      "interrupted",
      "interrupted",
    ]);
  });
});

Deno.test("iota chat: a model without a chat template is refused with what to do instead, and wrong use with 2", async () => {
  const plain = "tests/vectors/export/llama";
  const { code, stderr } = await spoken(["--model", plain], []);
  assertEquals(code, 1);
  assertStringIncludes(stderr, `The model in '${plain}' has no chat template, so it cannot tell who speaks`);
  assertStringIncludes(stderr, `iota generate --model ${plain} --prompt TEXT`);
  assertEquals((await spoken(["--model", plain, "--tokens", "0"], [])).code, 2);
});

Deno.test("Chat model: an export keeps template, end tokens and settings, byte by byte", async () => {
  await withScratchFolder(async (folder) => {
    const [from, out] = [`${folder}/from`, `${folder}/out`];
    await writeChatModel(from);
    await exportModel(await openModel(from, () => {}), { out, type: "f32", shardBytes: 1e9, card: "" });
    for (const name of ["tokenizer.json", "tokenizer_config.json", "generation_config.json"]) {
      assertEquals(await Deno.readFile(`${out}/${name}`), await Deno.readFile(`${from}/${name}`), name);
    }
    assertEquals(JSON.parse(await Deno.readTextFile(`${out}/config.json`)).eos_token_id, [256, 258]);
    await exportGguf(await openModel(from, () => {}), { out, name: "x" });
    const gguf = new TextDecoder("latin1").decode(await Deno.readFile(`${out}/model.gguf`));
    assertStringIncludes(gguf, chatMl);
    const again = await openModel(out, () => {});
    assert(again.chat !== null);
    assertEquals([...again.ends], [256, 258]);
  });
});
