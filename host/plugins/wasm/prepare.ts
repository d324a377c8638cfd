/** From the bytes that a user sends to a module that data planes can run. */
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { inspect } from './binary/inspect.js';
import { meter } from './binary/meter.js';
import { reasonAgainst } from './binary/wrapper.js';
import { unknownImports } from './imports.js';

export interface Prepared {
  /** With fuel. */
  readonly ready: Uint8Array;
  /** Numbers of their parameters by the names of functions that rules can call. */
  readonly functions: Readonly<Record<string, number>>;
  /** Why exported functions can't be called, by name. */
  readonly others: readonly (readonly [name: string, reason: string])[];
}

/** Makes a module ready without running any of it; names that begin with an underscore belong to its own runtime. */
export function prepare(bytes: Uint8Array): Prepared {
  try {
    const ready = meter(bytes);
    const shape = inspect(bytes);
    const unknown = unknownImports(shape);
    if (unknown.length > 0) throw new Error(`it imports what is not given to plugins: ${unknown.join(', ')}`);
    const found = shape.exports.flatMap((one) => (one.kind === 'function' && !one.name.startsWith('_') ? [one] : []));
    const reasons = found.map(
      ({ name, signature }) => [name, reasonAgainst(signature), signature.params.length] as const,
    );
    const functions = reasons.flatMap(([name, reason, count]) =>
      reason === undefined ? [[name, count] as const] : [],
    );
    const others = reasons.flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason] as const]));
    return { ready, functions: Object.fromEntries(functions), others };
  } catch (error) {
    throw new HaumeaError('general', `invalid wasm module: ${reasonOf(error)}`, { cause: error });
  }
}
