/** Finds functions that only compute: their code does the same in another module, so callers have a copy of it. */
import { instructionsOf, localsOf } from '../binary/bodies.js';
import { noLimits } from '../binary/limits.js';
import { readModule, type WasmModule } from '../binary/module.js';
import { numericBase, Op } from '../binary/opcodes.js';
import { numberTypes } from '../binary/types.js';
import type { InlineFunction, Pass } from './pass.js';

export const inline: Pass = {
  name: 'inline',
  does: 'functions of numbers and branches alone stand in their caller, without call and fuel',
  stage: 'load',
  needs: ['meter'],
  optional: 'abs 3.3 → 2.6 ns a row, a * b + 1 3.7 → 2.7',
  run: (on) => ({ ...on, inlined: inlineFunctions(on.bytes) }),
};

/** Bounds of a copy: longer functions gain little without a call. */
const maxBytes = 1024;
const maxLocals = 64;

/** Instructions that do nothing but compute. */
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

/** Exports of a valid module that only compute, by their names. */
export function inlineFunctions(bytes: Uint8Array): Map<string, InlineFunction> {
  const module = readModule(bytes, noLimits);
  const imported = module.functions.length - module.bodies.length;
  const found = new Map<string, InlineFunction>();
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
