/** Looks into the functions that a module defines: their variables and instructions. */
import { Instructions } from './instructions.js';
import type { WasmModule } from './module.js';
import { ByteReader } from './reader.js';
import { readValueType, type ValueType } from './types.js';

/** The instructions of a function, by its place among those that the module defines. */
export function instructionsOf(module: WasmModule, i: number): Instructions {
  const body = module.bodies[i] as WasmModule['bodies'][number];
  const index = module.functions.length - module.bodies.length + i;
  return new Instructions(new ByteReader(module.bytes, body.code, body.to, `function ${index}`));
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
