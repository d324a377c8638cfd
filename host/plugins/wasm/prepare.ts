/** From the bytes that a user sends to a module that data planes can run. */
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { addressParams } from './binary/addresses.js';
import { inspect } from './binary/inspect.js';
import { defaultLimits, type ModuleLimits } from './binary/limits.js';
import { meter } from './binary/meter.js';
import { type Plugin, pluginOf } from './functions.js';
import { checkImports } from './imports.js';

export interface Prepared extends Plugin {
  /** With fuel. */
  readonly ready: Uint8Array;
}

/** Makes a module ready without running any of it. `beside` is the manifest of its archive, where it has one. */
export function prepare(bytes: Uint8Array, beside?: string, limits: ModuleLimits = defaultLimits): Prepared {
  try {
    const ready = meter(bytes, limits);
    const shape = inspect(bytes, limits);
    checkImports(shape);
    return { ready, ...pluginOf(shape, beside, addressParams(bytes, limits)) };
  } catch (error) {
    throw new HaumeaError('general', `invalid wasm module: ${reasonOf(error)}`, { cause: error });
  }
}
