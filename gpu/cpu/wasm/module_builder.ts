/** A WebAssembly module of kernels on one imported memory. */

import { magic, name, section, unsigned, vector } from "./encoding.ts";
import { type Expression, type Statement, type ValueType } from "./expressions.ts";
import { FunctionBuilder, localAt, type Parameters, type Signature, typeCodes } from "./function_builder.ts";

export const pageBytes = 65536;
export const mostPages = 65536; // 4 GiB, all that 32-bit addresses reach

interface BuiltFunction {
  readonly name: string;
  readonly parameters: readonly ValueType[];
  readonly body: readonly number[];
}

interface Callable<Types extends Signature> {
  readonly call: (args: { readonly [Name in keyof Types]: Expression<Types[Name]> }) => Statement;
}

export class ModuleBuilder {
  readonly #functions: BuiltFunction[] = [];

  function<Types extends Signature>(
    functionName: string,
    signature: Types,
    write: (f: FunctionBuilder, parameters: Parameters<Types>) => void,
  ): Callable<Types> {
    const names = Object.keys(signature);
    const builder = new FunctionBuilder(names.length);
    const locals = names.map((each, index) => [each, localAt(signature[each]!, index)] as const);
    write(builder, Object.fromEntries(locals) as Parameters<Types>);
    const index = this.#functions.length;
    const parameters = names.map((each) => signature[each]!);
    this.#functions.push({ name: functionName, parameters, body: builder.body() });
    return {
      call: (args) => ({
        type: "none",
        bytes: [...names.flatMap((each) => args[each]!.bytes), 0x10, ...unsigned(index)],
      }),
    };
  }

  build({ isShared = false } = {}): Uint8Array<ArrayBuffer> {
    const types = this.#functions.map(({ parameters }) => [
      0x60,
      ...vector(parameters.map((type) => [typeCodes[type]])),
      ...vector([]), // no result: kernels write to memory
    ]);
    const limits = [isShared ? 0x03 : 0x01, ...unsigned(1), ...unsigned(mostPages)];
    const memory = [...name("host"), ...name("memory"), 0x02, ...limits];
    const exports = this.#functions.map((each, index) => [...name(each.name), 0x00, ...unsigned(index)]);
    return Uint8Array.from([
      ...magic,
      ...section(1, vector(types)),
      ...section(2, vector([memory])),
      ...section(3, vector(this.#functions.map((_, index) => unsigned(index)))),
      ...section(7, vector(exports)),
      ...section(10, vector(this.#functions.map(({ body }) => body))),
    ]);
  }
}
