/** `iota chat`: a conversation with a model, line by line. Ctrl-C ends an answer, and where there is none, the program. */

import { untilAborted } from "../../program/aborted.ts";
import { UserError } from "../../program/errors.ts";
import { shellWord } from "../../program/shell_words.ts";
import { openDevice } from "../../device/open_device.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { harmless } from "../../terminal/text/foreign_text.ts";
import { systemTimers } from "../../../net/timers.ts";
import { rowsOfCall, TextModel } from "../generate/text_model.ts";
import { TextService } from "../serve/text_service.ts";
import { modelPlace } from "../source/model_place.ts";
import { openModel } from "../source/open_model.ts";
import { TemplateProblem } from "../template/bounded_template.ts";
import type { ChatTemplate, Message } from "../template/chat_template.ts";
import { type ChatInput, messageOf, standardInput } from "./chat_input.ts";
import { Conversation } from "./conversation.ts";

export async function runChat(context: CommandContext, openInput = standardInput): Promise<number> {
  const { options, output } = context;
  const place = modelPlace(options, "to chat with");
  const source = await openModel(place, (warning) => output.log.warn(warning));
  const template = source.chat;
  if (template === null) {
    throw new UserError(`The model in '${place}' has no chat template, so it cannot tell who speaks`, {
      next: `Let it continue a text instead: iota generate --model ${shellWord(source.path)} --prompt TEXT`,
    });
  }
  const startedMs = systemTimers.nowMs();
  const device = await openDevice(options.text("device"));
  try {
    const length = Math.min(options.number("context")!, source.plan.model.contextLength);
    const model = await TextModel.open(device, source, { room: { streams: 1, rows: rowsOfCall, length } });
    const chat = new Chat(context, { model, template });
    await chat.run(openInput());
    model.close();
    if (output.mode === "json") {
      const wallMs = systemTimers.nowMs() - startedMs;
      output.summary({ model: place, answers: chat.answers, tokens: chat.tokens, device: device.adapter.name, wallMs });
    }
    return 0;
  } finally {
    await device.finish();
  }
}

class Chat {
  readonly #context: CommandContext;
  readonly #model: TextModel;
  readonly #template: ChatTemplate;
  readonly #service: TextService;
  readonly #conversation = new Conversation();
  #answer: AbortController | null = null; // while one is given
  answers = 0;
  tokens = 0; // of answers

  constructor(context: CommandContext, { model, template }: { model: TextModel; template: ChatTemplate }) {
    this.#context = context;
    this.#model = model;
    this.#template = template;
    this.#service = new TextService(model, { mostWaiting: 1, onFailed: () => {} }); // `complete` rejects as well
    const system = context.options.text("system");
    if (system !== undefined) this.#conversation.add({ role: "system", content: system });
  }

  async run({ isTyped, lines }: ChatInput): Promise<void> {
    const { output } = this.#context;
    const over = this.#context.interruption();
    this.#context.interceptInterrupt(() => {
      const isAnswering = this.#answer !== null && !this.#answer.signal.aborted;
      this.#answer?.abort();
      return isAnswering;
    });
    if (isTyped) output.line("Write to the model, a line at a time. Ctrl-C ends an answer, Ctrl-D the conversation.");
    const iterator = lines[Symbol.asyncIterator]();
    while (!over.aborted) {
      if (isTyped) output.piece(output.paint.dim("> "));
      const next = await Promise.race([iterator.next(), untilAborted(over).then(() => null)]);
      if (next === null || next.done === true) break;
      if (next.value.trim() !== "") await this.#take(next.value, over);
    }
    if (isTyped) output.piece("\n");
  }

  async #take(line: string, over: AbortSignal): Promise<void> {
    const message: Message = this.#context.output.mode === "json" ? messageOf(line) : { role: "user", content: line };
    this.#conversation.add(message);
    if (message.role !== "user" && message.role !== "tool") return;
    const prompt = this.#prompt();
    if (prompt === null) this.#conversation.drop();
    else await this.#reply(prompt, over);
  }

  /** Null: this message cannot be answered; the reason was told. */
  #prompt(): number[] | null {
    const { length } = this.#model.room;
    const most = length - Math.min(this.#mostTokens, Math.floor(length / 2)); // the answer needs room too
    const rendering = { tokenizer: this.#model.tokenizer, goesOn: true, date: new Date(systemTimers.nowMs()) };
    const before = this.#conversation.left;
    try {
      const prompt = this.#conversation.fit((messages) => this.#template.encode(messages, rendering), most);
      const gone = this.#conversation.left - before;
      if (gone > 0) this.#context.output.event({ type: "forgotten", messages: gone });
      if (prompt !== null && prompt.length > 0) return prompt;
      this.#refuse(`The message is too long: with it the conversation takes more than ${most} tokens; shorten it`);
    } catch (error) {
      if (!(error instanceof TemplateProblem)) throw error;
      this.#refuse(error.message);
    }
    return null;
  }

  #refuse(why: string): void {
    const { output } = this.#context;
    output.log.warn(why);
    output.event({ type: "refused", why });
  }

  get #mostTokens(): number {
    return this.#context.options.number("tokens")!;
  }

  async #reply(prompt: readonly number[], over: AbortSignal): Promise<void> {
    const { options, output } = this.#context;
    const answer = this.#answer = new AbortController();
    let content = "";
    const onText = (text: string) => {
      content += text;
      output.piece(harmless(text, text.length));
      output.event({ type: "text", text });
    };
    const stop = options.text("stop");
    const end = await this.#service.complete({
      ...{ prompt, streams: true, streamsUsage: false, stops: stop === undefined ? [] : [stop] },
      tokens: Math.min(this.#mostTokens, this.#model.room.length - prompt.length),
      temperature: options.number("temperature")!,
      topK: options.number("top-k")!,
      topP: options.number("top-p")!,
      seed: (options.number("seed")! + this.answers) % 2 ** 32,
    }, { onText, signal: AbortSignal.any([answer.signal, over]) });
    this.#answer = null;
    this.#conversation.add({ role: "assistant", content });
    this.answers += 1;
    this.tokens += end.tokens;
    const reason = answer.signal.aborted || over.aborted ? "interrupted" : end.reason;
    output.piece("\n");
    output.event({ type: "answer", content, reason, promptTokens: prompt.length, tokens: end.tokens });
  }
}
