/** Modules whose functions answer what no function should, for each convention: each seed gives another. */

import type { Convention, PluginType } from '../../../host/plugins/manifest.js';
import { Code } from '../../../host/plugins/wasm/binary/code.js';
import { Op } from '../../../host/plugins/wasm/binary/opcodes.js';
import { type Signature, signatureOf, type ValueType } from '../../../host/plugins/wasm/binary/types.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { kitSignatures } from '../../../host/plugins/wasm/guest/kit.js';
import { wasiSignatures } from '../../../host/plugins/wasm/guest/wasi.js';
import { place, textsAt, wildTexts } from './codec-guests.js';
import { moduleOf } from './modules.js';
import type { Random } from './programs.js';

const pages = 2;
const pageBytes = 65_536;
const types: readonly PluginType[] = [
  ...(['bigint', 'float', 'boolean', 'string', 'bytea', 'datetime', 'array', 'object', 'any'] as const),
];
const scalars: Partial<Record<PluginType, ValueType>> = {
  bigint: 'i64',
  float: 'f64',
  boolean: 'i32',
  datetime: 'i64',
};

function oneOf<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)] as T;
}

interface Made {
  readonly name: string;
  readonly signature: Signature;
  readonly code: Uint8Array;
}

type Import = readonly [module: string, name: string, signature: Signature];

/** A module with its manifest. */
export function wildGuest(random: Random): Uint8Array {
  return new Wild(random, oneOf(random, ['pointers', 'pointers', 'assemblyscript', 'extism'] as const)).module();
}

class Wild {
  readonly #functions: Made[] = [];
  readonly #manifest: Record<string, unknown>[] = [];
  readonly #imports: readonly Import[];

  constructor(
    private readonly random: Random,
    private readonly convention: Convention,
  ) {
    const known: readonly Import[] = [
      ['haumea', 'fail', signatureOf('ii')],
      ['haumea', 'null', signatureOf('')],
      ['haumea', 'is_null', signatureOf('i', 'i')],
      ['haumea', 'log', signatureOf('ii')],
      ['env', 'abort', signatureOf('iiii')],
      ['env', 'trace', signatureOf('iifffff')],
    ];
    const kit = [...kitSignatures].map(([name, one]): Import => ['extism:host/env', name, one]);
    const wasi = [...wasiSignatures].flatMap(([name, one]): Import[] =>
      one === null ? [] : [['wasi_snapshot_preview1', name, one]],
    );
    const all = convention === 'extism' ? [...kit, ...kit, ...wasi] : [...known, ...known, ...wasi];
    this.#imports = Array.from({ length: 1 + random(8) }, () => oneOf(random, all));
  }

  module(): Uint8Array {
    const { convention, random } = this;
    for (let i = 0; i < 3; i++) {
      const name = `f${i}`;
      if (convention === 'extism') this.#plainOne(name, []);
      else {
        const args = Array.from({ length: random(3) }, () => oneOf(random, types));
        const kind = random(convention === 'pointers' ? 6 : 5);
        if (kind === 5) this.#batchOne(name, args);
        else if (kind === 4) this.#statesOf(name, args, 'analytic');
        else if (kind === 3) this.#statesOf(name, args.length > 0 ? args : ['bigint'], 'aggregate');
        else this.#plainOne(name, args);
      }
    }
    this.#codec();
    if (convention === 'pointers') {
      this.#add('haumea_alloc', signatureOf('i', 'i'), this.#allocator());
      if (random(2) === 0) this.#add('haumea_free', signatureOf('ii'), random(4) === 0 ? this.#misdeeds() : new Code());
    } else if (convention === 'assemblyscript') {
      this.#add('__new', signatureOf('ii', 'i'), this.#allocator());
      this.#add('__pin', signatureOf('i', 'i'), new Code().get(0));
      this.#add('__unpin', signatureOf('i'), random(6) === 0 ? this.#misdeeds() : new Code());
    }
    const codecs = [{ name: 'c', decode: 'read', encode: 'write' }];
    return withManifest(this.#written(), JSON.stringify({ abi: 1, convention, functions: this.#manifest, codecs }));
  }

  /** Both ways of a codec `c`: JSON of a message, a message of JSON. */
  #codec(): void {
    for (const [name, from, to] of [
      ['read', 'bytea', 'string'],
      ['write', 'string', 'bytea'],
    ] as const) {
      const isKit = this.convention === 'extism';
      const signature = isKit ? signatureOf('', 'i') : { params: this.#params([from]), results: [this.#result(to)] };
      this.#add(name, signature, this.#answer(signature.results[0] as ValueType));
    }
  }

  #plainOne(name: string, args: readonly PluginType[]): void {
    const isKit = this.convention === 'extism';
    const result = oneOf(this.random, types);
    const signature = isKit ? signatureOf('', 'i') : { params: this.#params(args), results: [this.#result(result)] };
    this.#add(name, signature, this.#answer(signature.results[0] as ValueType));
    const nulls = this.random(3) === 0 ? 'pass' : 'skip';
    this.#manifest.push({ name, args: isKit ? [oneOf(this.random, types)] : args, result, nulls });
  }

  #batchOne(name: string, args: readonly PluginType[]): void {
    const { random } = this;
    const code = this.#misdeeds();
    for (let row = 0; row < 1 + random(12); row++) {
      const [at, length] = place(random);
      code
        .get(2)
        .memory(Op.i32Load, 0)
        .i32(row * 8)
        .op(Op.i32Add);
      code
        .i64(BigInt(length >>> 0) * 2n ** 32n > 2n ** 62n ? -1 : length)
        .i64(32)
        .op(Op.i64Shl);
      code.i64(at).op(Op.i64Or).memory(Op.i64Store, 0);
      code.get(2).memory(Op.i32Load, 0, 4).i32(row).op(Op.i32Add).i32(random(7)).memory(Op.i32Store8, 0);
    }
    // The table of columns itself.
    if (random(6) === 0)
      code
        .get(random(2) + 1)
        .i64(random(2 ** 31))
        .memory(Op.i64Store, 0);
    code.i32(random(6) === 0 ? 1 : 0);
    this.#add(name, signatureOf('iii', 'i'), code);
    this.#manifest.push({ name, args, result: oneOf(random, types), batch: true });
  }

  #statesOf(name: string, args: readonly PluginType[], kind: 'aggregate' | 'analytic'): void {
    const { random, convention } = this;
    const result = oneOf(random, types);
    const params = ['i32' as const, ...this.#params(args)];
    const bytes = signatureOf('i', convention === 'pointers' ? 'l' : 'i');
    const load = signatureOf(convention === 'pointers' ? 'ii' : 'i', 'i');
    this.#add(`${name}_init`, signatureOf('', 'i'), this.#answer('i32'));
    if (kind === 'analytic') {
      this.#add(`${name}_step`, { params, results: [this.#result(result)] }, this.#answer(this.#result(result)));
    } else {
      this.#add(`${name}_accumulate`, { params, results: [] }, this.#misdeeds());
      const finish = { params: ['i32' as const], results: [this.#result(result)] };
      this.#add(`${name}_finish`, finish, this.#answer(this.#result(result)));
    }
    if (kind === 'analytic' || random(2) === 0) {
      this.#add(`${name}_save`, bytes, this.#answer(bytes.results[0] as ValueType));
      this.#add(`${name}_load`, load, this.#answer('i32'));
      if (kind === 'aggregate' && random(2) === 0) this.#add(`${name}_merge`, signatureOf('ii'), this.#misdeeds());
    }
    this.#manifest.push({ name, args, result, [kind]: true });
  }

  #params(args: readonly PluginType[]): ValueType[] {
    return args.flatMap((type): ValueType[] => {
      const scalar = scalars[type];
      if (scalar !== undefined) return [scalar];
      return this.convention === 'pointers' ? ['i32', 'i32'] : ['i32'];
    });
  }

  #result(type: PluginType): ValueType {
    return scalars[type] ?? (this.convention === 'pointers' ? 'i64' : 'i32');
  }

  #add(name: string, signature: Signature, code: Code): void {
    this.#functions.push({ name, signature, code: code.take() });
  }

  /** Does something, then gives something. */
  #answer(type: ValueType): Code {
    return this.#push(this.#misdeeds(), type);
  }

  #push(code: Code, type: ValueType): Code {
    const { random } = this;
    const [at, length] = place(random);
    switch (type) {
      case 'i32':
        return code.i32(oneOf(random, [at, length, 0, -1, pageBytes + 16, random(2 ** 31)]) | 0);
      case 'f64':
        return code.double(oneOf(random, [Number.NaN, Number.POSITIVE_INFINITY, -0, 1e300, random(2 ** 31)]));
      case 'f32':
        return code.zero('f32');
      default: {
        const numbers = [0, -1, 2 ** 52, -(2 ** 52), random(2 ** 31)];
        if (random(3) === 0) return code.i64(oneOf(random, numbers));
        code
          .i32(at | 0)
          .op(Op.i64ExtendI32U)
          .i64(32)
          .op(Op.i64Shl);
        return code.i32(length | 0).op(Op.i64ExtendI32U, Op.i64Or);
      }
    }
  }

  #misdeeds(): Code {
    const code = new Code();
    for (let left = this.random(4); left > 0; left--) this.#misdeed(code);
    return code;
  }

  #misdeed(code: Code): void {
    const { random } = this;
    const [at, length] = place(random);
    const deeds: (() => void)[] = [
      () => this.#callImport(code),
      () => this.#callImport(code),
      () => this.#callImport(code),
      () =>
        code
          .i32(at | 0)
          .i32(random(256))
          .i32(length | 0)
          .op(Op.memoryFill)
          .byte(0),
      () =>
        code
          .i32(0)
          .i32(random(256))
          .i32(pageBytes * pages)
          .op(Op.memoryFill)
          .byte(0),
      () =>
        code
          .i32(at | 0)
          .i32(at | 0)
          .memory(Op.i32Store, 0),
      // Where AssemblyScript has class and length of an object.
      () =>
        code
          .i32(pageBytes + 8)
          .i32(oneOf(random, [1, 2, 0]))
          .memory(Op.i32Store, 0),
      () =>
        code
          .i32(pageBytes + 12)
          .i32(length | 0)
          .memory(Op.i32Store, 0),
      () => code.i32(random(200)).at(Op.memoryGrow, 0).op(Op.drop),
      () => void (random(4) === 0 && code.op(Op.unreachable)),
      () => void (random(6) === 0 && code.loop(() => code.at(Op.br, 0))),
      () => void (random(6) === 0 && code.loop(() => code.i32(3).at(Op.memoryGrow, 0).op(Op.drop).at(Op.br, 0))),
    ];
    oneOf(random, deeds)();
  }

  #callImport(code: Code): void {
    const index = this.random(this.#imports.length);
    const [, name, { params, results }] = this.#imports[index] as Import;
    // They end the call, as most others would not.
    if (/^(proc_|http_request|abort)/.test(name) && this.random(4) > 0) return;
    for (const type of params) this.#push(code, type);
    code.at(Op.call, index);
    for (const type of results) {
      // What a kit gave is an offset that works: it is given back to others.
      if (type === 'i64' && this.random(2) === 0) this.#useOffset(code);
      else code.op(Op.drop);
    }
  }

  #useOffset(code: Code): void {
    const taking = this.#imports.findIndex(
      ([, , { params, results }]) => params.length === 1 && params[0] === 'i64' && results.length === 0,
    );
    if (taking < 0) code.op(Op.drop);
    else code.at(Op.call, taking);
  }

  #allocator(): Code {
    const { random } = this;
    const code = new Code();
    const kind = random(12);
    if (kind === 0) return code.i32(place(random)[0] | 0);
    if (kind === 1) return code.i32(0);
    if (kind === 2) return code.i32(pageBytes * pages - 8);
    if (kind === 3) return code.op(Op.unreachable);
    code.at(Op.globalGet, 0);
    return code.at(Op.globalGet, 0).get(0).op(Op.i32Add).at(Op.globalSet, 0);
  }

  #written(): Uint8Array {
    const signatures = [...this.#imports.map(([, , one]) => one), ...this.#functions.map(({ signature }) => signature)];
    const imports = new Code().u32(this.#imports.length);
    this.#imports.forEach(([module, name], i) => {
      imports.name(module).name(name).byte(0).u32(i);
    });
    const exports = new Code()
      .u32(this.#functions.length + 1)
      .name('memory')
      .byte(2)
      .u32(0);
    this.#functions.forEach(({ name }, i) => {
      exports
        .name(name)
        .byte(0)
        .u32(this.#imports.length + i);
    });
    const data = new ByteWriter().u32(1).byte(0).raw(new Code().i32(textsAt).view());
    data.byte(0x0b).sized(Buffer.concat(wildTexts));
    return moduleOf(
      {
        types: signatures,
        functions: this.#functions.map(({ code }, i) => ({ type: this.#imports.length + i, code: [...code] })),
        sections: {
          2: imports.take(),
          5: Uint8Array.of(1, 0, pages),
          6: new ByteWriter().u32(1).byte(0x7f, 1).raw(new Code().i32(pageBytes).view()).byte(0x0b).take(),
          7: exports.take(),
          11: data.take(),
        },
      },
      this.#imports.length,
    );
  }
}
