/**
 * Finds parameters that are addresses: what a function adds little to, or nothing, and then reads or writes there. A
 * module does not say so itself, since an address is an i32 as a number is.
 */
import { instructionsOf } from '../binary/bodies.js';
import type { Instructions } from '../binary/instructions.js';
import { defaultLimits, type ModuleLimits } from '../binary/limits.js';
import { readModule, type WasmModule } from '../binary/module.js';
import { Op } from '../binary/opcodes.js';
import { ByteReader } from '../binary/reader.js';
import type { Signature } from '../binary/types.js';

/** Least constant that makes a sum an index, bytes: compilers lay tables and texts behind this address. */
const dataAt = 1024;
const lastLoad = 0x35;
const lastStore = 0x3e;
/** Most levels of nested calls that are followed. */
const maxDepth = 8;

/** Known origin of a value on the stack: a parameter with a small offset, a constant, or null for any other. */
type Known = { readonly param: number } | { readonly constant: number } | null;

/** Indexes of the parameters that are addresses, ascending, by the names of the exported functions that have any. */
export function addressParams(bytes: Uint8Array, limits: ModuleLimits = defaultLimits): Map<string, number[]> {
  const module = readModule(bytes, limits);
  const finder = new Finder(module);
  const found = new Map<string, number[]>();
  for (const { name, kind, index } of module.exports) {
    if (kind !== 'function') continue;
    const params = [...finder.paramsOf(index)].sort((a, b) => a - b);
    if (params.length > 0) found.set(name, params);
  }
  return found;
}

class Finder {
  readonly #known = new Map<number, ReadonlySet<number>>();
  readonly #imported: number;

  constructor(private readonly module: WasmModule) {
    this.#imported = module.functions.length - module.bodies.length;
  }

  /** Parameters of a function that are addresses. */
  paramsOf(index: number, depth = 0): ReadonlySet<number> {
    const known = this.#known.get(index);
    if (known !== undefined || index < this.#imported || depth > maxDepth) return known ?? none;
    // A recursive function is looked at only once.
    this.#known.set(index, none);
    const found = this.#find(index, depth);
    this.#known.set(index, found);
    return found;
  }

  #find(index: number, depth: number): ReadonlySet<number> {
    const { params } = this.#signature(index);
    const found = new Set<number>();
    const take = (value: Known | undefined) => {
      if (value && 'param' in value) found.add(value.param);
    };
    const stack: Known[] = [];
    const instructions = instructionsOf(this.module, index - this.#imported);
    while (instructions.next()) {
      const { op } = instructions;
      if (op === Op.localGet) {
        const isAddress = params[instructions.index] === 'i32';
        stack.push(isAddress ? { param: instructions.index } : null);
      } else if (op === Op.i32Const) stack.push({ constant: this.#constant(instructions) });
      else if (op > Op.i32Const && op <= Op.f64Const) stack.push(null);
      else if (op === Op.i32Add || op === Op.i32Sub) stack.push(sum(stack.pop(), stack.pop()));
      else if (op >= Op.i32Load && op <= lastLoad) {
        const at = stack.pop();
        if (this.#offset(instructions) < dataAt) take(at);
        stack.push(null);
      } else if (op > lastLoad && op <= lastStore) {
        stack.pop();
        const at = stack.pop();
        if (this.#offset(instructions) < dataAt) take(at);
      } else if (op === Op.memoryCopy) {
        stack.pop();
        take(stack.pop());
        take(stack.pop());
      } else if (op === Op.call) {
        const callee = this.#signature(instructions.index);
        const args = stack.splice(Math.max(0, stack.length - callee.params.length));
        const missing = callee.params.length - args.length;
        for (const param of this.paramsOf(instructions.index, depth + 1)) take(args[param - missing]);
        stack.push(...callee.results.map(() => null));
      } else if (op !== Op.localTee) stack.length = 0;
    }
    return found;
  }

  #signature(index: number): Signature {
    return this.module.types[this.module.functions[index] as number] as Signature;
  }

  #constant(instructions: Instructions): number {
    return Number(this.#immediates(instructions).s33());
  }

  #offset(instructions: Instructions): number {
    const reader = this.#immediates(instructions);
    // The alignment stands before the offset.
    reader.u32();
    return reader.u32();
  }

  #immediates({ start, end }: Instructions): ByteReader {
    return new ByteReader(this.module.bytes, start + 1, end, 'an instruction');
  }
}

const none: ReadonlySet<number> = new Set();

/** Origin of a sum: the parameter, with a small or unknown value added; null with a large constant, as for an index. */
function sum(one: Known | undefined, other: Known | undefined): Known {
  const [param, added] = one && 'param' in one ? [one, other] : [other, one];
  if (!param || !('param' in param)) return null;
  return added && 'constant' in added && Math.abs(added.constant) >= dataAt ? null : param;
}
