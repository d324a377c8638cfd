/**
 * Random programs for tests of fuel: functions of an i32 with branches, bounded loops, jumps out of blocks, calls of
 * the functions before them, all of which end. Each statement adds 1 to an exported global, `steps`.
 */

import { Code } from '../../../host/plugins/wasm/binary/code.js';
import { Op } from '../../../host/plugins/wasm/binary/opcodes.js';
import type { Signature } from '../../../host/plugins/wasm/binary/types.js';
import { moduleOf } from './modules.js';

/** Instructions that count a statement: each statement costs at least so much. */
export const stepCost = 4;
const maxDepth = 4;
const type: Signature = { params: ['i32'], results: ['i32'] };
const steps = 0;
/** The parameter, a value, then counters of loops. */
const input = 0;
const value = 1;
const firstCounter = 2;

export type Random = (below: number) => number;

/** The same numbers for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A module of `count` functions, exported as `f0` and so on. */
export function programOf(random: Random, count: number): Uint8Array<ArrayBuffer> {
  const functions = Array.from({ length: count }, (_, i) => {
    const { code, counters } = new Program(random, i).make();
    return { type: 0, export: `f${i}`, locals: new Array(1 + counters).fill('i32'), code: [...code] };
  });
  const exported = [...functions.map(({ export: name }, i) => [name, 0, i] as const), ['steps', 3, steps] as const];
  const exports = new Code().u32(exported.length);
  for (const [name, kind, index] of exported) exports.name(name).byte(kind).u32(index);
  const elements = functions.map((_one, i) => i);
  return moduleOf({
    types: [type],
    functions,
    sections: {
      4: Uint8Array.of(1, 0x70, 0, count),
      5: Uint8Array.of(1, 0, 1),
      6: Uint8Array.of(1, 0x7f, 1, 0x41, 0, 0x0b),
      7: exports.take(),
      9: Uint8Array.of(1, 0, 0x41, 0, 0x0b, count, ...elements),
    },
  });
}

class Program {
  readonly #code = new Code();
  #counters = 0;
  /** Blocks around, the innermost last; a loop is none to jump to. */
  readonly #labels: ('block' | 'loop')[] = [];

  constructor(
    private readonly random: Random,
    private readonly index: number,
  ) {}

  make(): { code: Uint8Array; counters: number } {
    this.#statements(0);
    return { code: this.#code.get(value).take(), counters: this.#counters };
  }

  #statements(depth: number): void {
    for (let left = 1 + this.random(4); left > 0; left--) this.#statement(depth);
  }

  #statement(depth: number): void {
    const code = this.#code;
    code.at(Op.globalGet, steps).i32(1).op(Op.i32Add).at(Op.globalSet, steps);
    const kinds = depth < maxDepth ? 12 : 6;
    switch (this.random(kinds)) {
      case 0:
      case 1:
        code.get(value).get(input).op(Op.i32Mul).i32(this.random(1000)).op(Op.i32Add).set(value);
        return;
      case 2:
        this.#call();
        return;
      case 3:
        this.#jump();
        return;
      case 4:
        code.i32(this.random(1000)).get(value).i32(this.random(64)).op(Op.memoryFill).byte(0);
        return;
      case 5:
        this.#condition();
        code.op(Op.if).byte(0x40).get(value).op(Op.return, Op.end);
        return;
      case 6:
      case 7:
        this.#loop(depth);
        return;
      case 8:
        this.#within('block', () => code.block(() => this.#statements(depth + 1)));
        return;
      default:
        this.#condition();
        this.#within('block', () => {
          if (this.random(2) === 0) code.if(() => this.#statements(depth + 1));
          else
            code.if(
              () => this.#statements(depth + 1),
              () => this.#statements(depth + 1),
            );
        });
    }
  }

  #condition(): void {
    this.#code
      .get(value)
      .i32(1 << this.random(5))
      .op(Op.i32And);
  }

  #loop(depth: number): void {
    const counter = firstCounter + this.#counters++;
    const code = this.#code.i32(1 + this.random(3)).set(counter);
    this.#within('loop', () =>
      code.loop(() => {
        this.#statements(depth + 1);
        code.get(counter).i32(1).op(Op.i32Sub).tee(counter).at(Op.brIf, 0);
      }),
    );
  }

  /** Only functions before this one: all programs end. */
  #call(): void {
    if (this.index === 0) return;
    const callee = this.random(this.index);
    const code = this.#code.get(value);
    if (this.random(2) === 0) code.at(Op.call, callee);
    else code.i32(callee).at(Op.callIndirect, 0).u32(0);
    code.set(value);
  }

  #jump(): void {
    const blocks = this.#labels.flatMap((label, i) => (label === 'block' ? [this.#labels.length - 1 - i] : []));
    const target = blocks[this.random(blocks.length)];
    if (target === undefined) return;
    this.#condition();
    if (this.random(3) > 0) this.#code.at(Op.brIf, target);
    else this.#code.op(Op.brTable).u32(1).u32(target).u32(target);
  }

  #within(label: 'block' | 'loop', write: () => unknown): void {
    this.#labels.push(label);
    write();
    this.#labels.pop();
  }
}
