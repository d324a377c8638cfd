/** From the bytes that a user sends to a module that data planes can run. */
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { inspect } from './binary/inspect.js';
import type { ModuleLimits } from './binary/limits.js';
import { meter } from './binary/meter.js';
import { type Plugin, pluginOf } from './functions.js';
import { unknownImports } from './imports.js';

/** What is to be made ready; plain data. */
export interface Unprepared {
  readonly bytes: Uint8Array;
  /** The manifest of its archive, where it has one. */
  readonly beside?: string | undefined;
  readonly limits: ModuleLimits;
}

export interface Prepared extends Plugin {
  /** With fuel. */
  readonly ready: Uint8Array;
}

/** Makes a module ready without running any of it. */
export function prepare({ bytes, beside, limits }: Unprepared): Prepared {
  try {
    const ready = meter(bytes, limits);
    const shape = inspect(bytes, limits);
    const unknown = unknownImports(shape);
    if (unknown.length > 0) throw new Error(`it imports what is not given to plugins: ${unknown.join(', ')}`);
    return { ready, ...pluginOf(shape, beside) };
  } catch (error) {
    throw new HaumeaError('general', `invalid wasm module: ${reasonOf(error)}`, { cause: error });
  }
}
