/** Codecs that do what no codec should, put together instruction by instruction: each seed gives another. */
import { Code } from '../../../host/plugins/wasm/binary/code.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { moduleOf } from './modules.js';
import type { Random } from './programs.js';

/** Texts that lie in the memory of each guest. */
const texts: readonly Uint8Array[] = [
  '{"a":1}',
  '[{"a":1},{"b":"x"}]',
  `[${new Array(3000).fill('{"a":2}').join()}]`,
  '[]',
  'null',
  '5',
  '{"a":',
  '{"a":1}}{',
  '[{"a":1},5]',
  '{"a":1e999,"a":-0}',
  '{"u":"\\ud800"}',
  '['.repeat(5000),
  `{"a":${'{"a":'.repeat(300)}`,
  '\0\0\0',
].map((text) => Buffer.from(text));
const noUtf8 = Buffer.from('7b2261223a22fffe227d', 'hex');
export const wildTexts = [...texts, noUtf8];
export const textsAt = 1024;
const pages = 2;
const pageBytes = 65_536;

/** Numbers of functions: two are imported. */
const [failFn, nullFn, readFn] = [0, 1, 2];
const [heap] = [0];
const op = {
  unreachable: 0x00,
  br: 0x0c,
  call: 0x10,
  drop: 0x1a,
  globalGet: 0x23,
  globalSet: 0x24,
  load8: 0x2d,
  load32: 0x28,
  store64: 0x37,
  store8: 0x3a,
  grow: 0x40,
  add: 0x6a,
  and: 0x71,
  or64: 0x84,
  shl64: 0x86,
  wide: 0xad,
} as const;
const fill = [0xfc, 0x0b, 0];

/** Manifest and module of a codec `c` that reads and writes; `batch` has it take a batch. */
export function wildCodec(random: Random): Uint8Array {
  const batch = random(4) === 0;
  const main = () => ({ type: batch ? 4 : 0, code: [...(batch ? batchBody(random) : body(random))] });
  const functions = [
    main(),
    main(),
    { type: 1, code: [...allocator(random)] },
    { type: 2, code: random(8) === 0 ? [op.unreachable] : [] },
  ];
  const exports = new Code().u32(5);
  ['read', 'write', 'haumea_alloc', 'haumea_free'].forEach((name, i) => {
    exports
      .name(name)
      .byte(0)
      .u32(readFn + i);
  });
  exports.name('memory').byte(2).u32(0);
  const imports = new Code()
    .u32(2)
    .name('haumea')
    .name('fail')
    .byte(0)
    .u32(2)
    .name('haumea')
    .name('null')
    .byte(0)
    .u32(3);
  const data = new ByteWriter()
    .u32(1)
    .byte(0)
    .raw(new Code().i32(textsAt).view())
    .byte(0x0b)
    .sized(Buffer.concat(wildTexts));
  const module = moduleOf({
    types: [
      { params: ['i32', 'i32'], results: ['i64'] },
      { params: ['i32'], results: ['i32'] },
      { params: ['i32', 'i32'], results: [] },
      { params: [], results: [] },
      { params: ['i32', 'i32', 'i32'], results: ['i32'] },
    ],
    functions,
    sections: {
      2: imports.take(),
      5: Uint8Array.of(1, 0, pages),
      6: new ByteWriter().u32(1).byte(0x7f, 1).raw(new Code().i32(pageBytes).view()).byte(0x0b).take(),
      7: exports.take(),
      11: data.take(),
    },
  });
  const codec = { name: 'c', decode: 'read', encode: 'write', ...(batch && { batch }) };
  return withManifest(module, JSON.stringify({ abi: 1, codecs: [codec] }));
}

/** An address and a length that may be those of a text. */
export function place(random: Random): [at: number, length: number] {
  const which = random(wildTexts.length);
  const at = textsAt + wildTexts.slice(0, which).reduce((sum, { length }) => sum + length, 0);
  const { length } = wildTexts[which] as Uint8Array;
  const wild = [0, -1, -8, 0x7fffffff, -0x80000000, pageBytes * pages - 1, random(2 ** 31), random(pageBytes)];
  if (random(2) === 0) return [at, length];
  const anyOf = (right: number) => (random(2) === 0 ? right : (wild[random(wild.length)] as number));
  return [anyOf(at), anyOf(length)];
}

/** Something that should not be, of every message or of those whose first byte has a bit. */
function misdeed(code: Code, random: Random): void {
  const [at, length] = place(random);
  const deeds: (() => void)[] = [
    () => code.byte(op.unreachable),
    () => code.loop(() => code.byte(op.br, 0)),
    () => code.loop(() => code.i32(random(64)).byte(op.grow, 0, op.drop, op.br, 0)),
    () => code.i32(random(2000)).byte(op.grow, 0, op.drop),
    () =>
      code
        .i32(at)
        .i32(random(256))
        .i32(length)
        .byte(...fill),
    () =>
      code
        .i32(0)
        .i32(random(256))
        .i32(pageBytes * pages)
        .byte(...fill),
    () => code.i32(at).i32(length).byte(op.call, failFn),
    () => code.byte(op.call, nullFn),
  ];
  const deed = deeds[random(deeds.length)] as () => void;
  if (random(3) === 0) deed();
  else {
    code
      .get(0)
      .byte(op.load8, 0, 0)
      .i32(1 << random(8))
      .byte(op.and);
    code.if(deed);
  }
}

function body(random: Random): Uint8Array {
  const code = new Code();
  for (let left = random(3); left > 0; left--) misdeed(code, random);
  if (random(10) === 0) code.get(0).get(1).byte(op.call, readFn, op.drop);
  const [at, length] = place(random);
  if (random(6) === 0) code.get(0);
  else code.i32(at);
  code.byte(op.wide).i64(32).byte(op.shl64);
  if (random(6) === 0) code.get(1);
  else code.i32(length);
  return code.byte(op.wide, op.or64).take();
}

/** Fills some cells of the result and their states, or what it takes for them. */
function batchBody(random: Random): Uint8Array {
  const code = new Code();
  if (random(3) === 0) misdeed(code, random);
  for (let row = 0; row < 1 + random(12); row++) {
    const [at, length] = place(random);
    code
      .get(2)
      .byte(op.load32, 0, 0)
      .i32(row * 8)
      .byte(op.add);
    code.i32(length).byte(op.wide).i64(32).byte(op.shl64).i32(at).byte(op.wide, op.or64, op.store64, 0, 0);
    code.get(2).byte(op.load32, 0, 4).i32(row).byte(op.add).i32(random(5)).byte(op.store8, 0, 0);
  }
  if (random(8) === 0)
    code
      .get(2)
      .i64(random(2 ** 31))
      .byte(op.store64, 0, 0);
  return code.i32(random(6) === 0 ? 1 : 0).take();
}

/** Mostly one that gives room behind what it gave before. */
function allocator(random: Random): Uint8Array {
  const code = new Code();
  const kind = random(10);
  if (kind === 0) return code.i32(place(random)[0]).take();
  if (kind === 1) return code.i32(0).take();
  if (kind === 2) return code.byte(op.unreachable).take();
  if (kind === 3) code.loop(() => code.byte(op.br, 0));
  if (kind === 4) code.loop(() => code.i32(1).byte(op.grow, 0, op.drop, op.br, 0));
  code.at(op.globalGet, heap);
  code.at(op.globalGet, heap).get(0).byte(op.add).at(op.globalSet, heap);
  return code.take();
}

/** Messages that no codec expects. */
export function garbage(random: Random): Uint8Array {
  const known = wildTexts[random(wildTexts.length)] as Uint8Array;
  const bytes = Uint8Array.from({ length: [0, 1, 7, 40, 2000][random(5)] as number }, () => random(256));
  const kinds = [
    bytes,
    known,
    known.subarray(0, random(known.length)),
    Buffer.from('oldnt'[random(5)] as string),
    Buffer.from('5nuwhxtrfe0'[random(11)] as string),
    Buffer.from(`a=${random(100)};b="${'x'.repeat(random(50))}"`),
    Buffer.from('11000705c3a974c3a90200000d7a003c258a'.slice(0, 2 * random(19)), 'hex'),
  ];
  const chosen = Uint8Array.from(kinds[random(kinds.length)] as Uint8Array);
  if (chosen.length > 0 && random(4) === 0) chosen[random(chosen.length)] = random(256);
  return chosen;
}
