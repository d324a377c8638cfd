/** Functions that only compute: their code can stand in another module, where it does the same. */
import { instructionsOf } from './cost.js';
import { defaultLimits, type ModuleLimits } from './limits.js';
import { readModule, type WasmModule } from './module.js';
import { numericBase, Op } from './opcodes.js';
import { ByteReader } from './reader.js';
import { numberTypes, readValueType, type ValueType } from './types.js';

/**
 * A function with numbers alone: no memory, globals, tables, calls or loops, so it ends by itself and touches nothing.
 */
export interface PureFunction {
  /** Variables beside its parameters. */
  readonly locals: readonly ValueType[];
  /** Its instructions, the last is the end. */
  readonly code: Uint8Array;
  readonly canTrap: boolean;
}

/** Longer ones gain little from being without a call. */
const maxBytes = 1024;
const maxLocals = 64;

/** Nothing else is pure: what is not known here stays where it was uploaded. */
const pureOps: ReadonlySet<number> = new Set([
  ...[Op.unreachable, Op.nop, Op.block, Op.if, Op.else, Op.end, Op.br, Op.brIf, Op.brTable, Op.return],
  ...[Op.drop, Op.select, Op.localGet, Op.localSet, Op.localTee],
  ...[Op.i32Const, Op.i64Const, Op.f32Const, Op.f64Const],
  ...range(Op.i32Eqz, Op.i64Extend32S),
  ...range(numericBase, numericBase + 7),
]);

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** Functions that a module exports and that are pure, by their names; the module must be valid. */
export function pureFunctions(bytes: Uint8Array, limits: ModuleLimits = defaultLimits): Map<string, PureFunction> {
  const module = readModule(bytes, limits);
  const imported = module.functions.length - module.bodies.length;
  const found = new Map<string, PureFunction>();
  for (const { name, kind, index } of module.exports) {
    const i = index - imported;
    if (kind === 'function' && i >= 0 && isPure(module, i)) {
      const locals = localsOf(module, i);
      if (locals.every((type) => numberTypes.has(type)))
        found.set(name, { locals, code: codeOf(module, i), canTrap: canTrap(module, i) });
    }
  }
  return found;
}

/**
 * Names of exported functions of a module with fuel that neither charge nor call: each is over after a few instructions
 * (cost.ts). `fuel` is the name under which the fuel is exported.
 */
export function freeFunctions(bytes: Uint8Array, fuel: string, limits: ModuleLimits = defaultLimits): Set<string> {
  const module = readModule(bytes, limits);
  const imported = module.functions.length - module.bodies.length;
  const global = module.exports.find(({ name, kind }) => kind === 'global' && name === fuel)?.index;
  const isFree = (i: number) => {
    const instructions = instructionsOf(module, i);
    while (instructions.next()) {
      const { op } = instructions;
      if (calls.has(op) || op === Op.loop || (op === Op.globalGet && instructions.index === global)) return false;
    }
    return true;
  };
  const functions = module.exports.filter(({ kind, index }) => kind === 'function' && index >= imported);
  return new Set(
    global === undefined ? [] : functions.filter(({ index }) => isFree(index - imported)).map(({ name }) => name),
  );
}

const calls: ReadonlySet<number> = new Set([Op.call, Op.callIndirect, Op.returnCall, Op.returnCallIndirect]);

function isPure(module: WasmModule, i: number): boolean {
  const body = module.bodies[i] as WasmModule['bodies'][number];
  if (body.to - body.from > maxBytes || body.locals > maxLocals) return false;
  const instructions = instructionsOf(module, i);
  while (instructions.next()) {
    const { op, blockType } = instructions;
    if (!pureOps.has(op)) return false;
    // Types have other numbers in other modules.
    if ((op === Op.block || op === Op.if) && 'type' in blockType) return false;
  }
  return true;
}

/** Divisions, and conversions of doubles that may not fit. */
const trappingOps: ReadonlySet<number> = new Set([
  Op.unreachable,
  ...[0x6d, 0x6e, 0x6f, 0x70, 0x7f, 0x80, 0x81, 0x82],
  ...[0xa8, 0xa9, 0xaa, 0xab, 0xae, 0xaf, 0xb0, 0xb1],
]);

function canTrap(module: WasmModule, i: number): boolean {
  const instructions = instructionsOf(module, i);
  while (instructions.next()) if (trappingOps.has(instructions.op)) return true;
  return false;
}

/** A copy, so that the module need not be kept. */
function codeOf(module: WasmModule, i: number): Uint8Array {
  const body = module.bodies[i] as WasmModule['bodies'][number];
  return module.bytes.slice(body.code, body.to);
}

/** Types of the variables of a function beside its parameters. */
export function localsOf(module: WasmModule, i: number): ValueType[] {
  const body = module.bodies[i] as WasmModule['bodies'][number];
  const reader = new ByteReader(module.bytes, body.from, body.code, 'variables');
  const locals: ValueType[] = [];
  for (let groups = reader.u32(); groups > 0; groups--) {
    const count = reader.u32();
    const type = readValueType(reader);
    for (let left = count; left > 0; left--) locals.push(type);
  }
  return locals;
}
