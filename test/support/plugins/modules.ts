/** Small modules for tests, written instruction by instruction or compiled by AssemblyScript. */
import { type Signature, type ValueType, valueTypeByte } from '../../../host/plugins/wasm/binary/types.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';

export const head = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

export interface HandMade {
  /** Types of all functions, those defined; a function of a type more is the number of the type. */
  readonly types: readonly Signature[];
  /** A section each, in order, where a module needs more than functions. */
  readonly sections?: Readonly<Record<number, Uint8Array>>;
  readonly functions: readonly {
    readonly type: number;
    readonly export?: string;
    readonly locals?: readonly ValueType[];
    /** Without the end. */
    readonly code: readonly number[];
  }[];
}

const sectionIds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11];

/** Puts a module together; `sections` replace those made of `types` and `functions`. */
export function moduleOf(
  { types, functions, sections = {} }: HandMade,
  importedFunctions = 0,
): Uint8Array<ArrayBuffer> {
  const bytesOf = (list: readonly ValueType[]) => Uint8Array.from(list, (type) => valueTypeByte[type]);
  const made: Record<number, (body: ByteWriter) => void> = {
    1: (body) => {
      body.u32(types.length);
      for (const { params, results } of types) body.byte(0x60).sized(bytesOf(params)).sized(bytesOf(results));
    },
    3: (body) => {
      body.u32(functions.length);
      for (const { type } of functions) body.u32(type);
    },
    7: (body) => {
      const named = functions.flatMap(({ export: name }, i) => (name === undefined ? [] : [{ name, i }]));
      body.u32(named.length);
      for (const { name, i } of named)
        body
          .name(name)
          .byte(0)
          .u32(importedFunctions + i);
    },
    10: (body) => {
      body.u32(functions.length);
      for (const { locals = [], code } of functions) {
        const one = new ByteWriter().u32(locals.length);
        for (const type of locals) one.u32(1).byte(valueTypeByte[type]);
        body.sized(one.raw(Uint8Array.from(code)).byte(0x0b).view());
      }
    },
  };
  const module = new ByteWriter().raw(head);
  for (const id of sectionIds) {
    const given = sections[id];
    if (given !== undefined) module.byte(id).sized(given);
    else if (made[id] !== undefined) module.section(id, made[id]);
  }
  return module.take();
}

/** Compiles AssemblyScript. */
export async function compileText(text: string, ...options: string[]): Promise<Uint8Array<ArrayBuffer>> {
  // Loading the compiler takes longer than most tests.
  const { default: asc } = await import('assemblyscript/asc');
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    ['module.ts', '--outFile', 'module.wasm', '-O3', '--runtime', 'stub', ...options],
    {
      readFile: (name) => (name === 'module.ts' ? text : null),
      writeFile: (name, contents) => {
        if (name === 'module.wasm') binary = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined) throw error ?? new Error(stderr.toString());
  return Uint8Array.from(binary);
}

/** What V8 says; the types of Node leave it out. */
export function isValid(bytes: Uint8Array): boolean {
  return (WebAssembly as unknown as { validate(bytes: Uint8Array): boolean }).validate(bytes);
}

/** A global of 64 bits; the types of Node leave it out. */
export function int64Global(value = 0n): { value: bigint } {
  const { Global } = WebAssembly as unknown as { Global: new (type: object, value: bigint) => { value: bigint } };
  return new Global({ value: 'i64', mutable: true }, value);
}

export function instanceOf(bytes: Uint8Array<ArrayBuffer>, imports: object = {}): WebAssembly.Instance {
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), imports as Record<string, Record<string, never>>);
}
