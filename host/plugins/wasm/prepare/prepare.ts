/** From the bytes that a user sends to a module that data planes can run. */
import { HaumeaError, reasonOf } from '../../../base/errors.js';
import { inspect } from '../binary/inspect.js';
import { defaultLimits, type ModuleLimits } from '../binary/limits.js';
import { addressParams } from '../exports/addresses.js';
import { isProgram, type Plugin, pluginOf } from '../exports/functions.js';
import { checkImports } from '../guest/imports.js';
import { runPasses, unpassed } from '../passes/list.js';

export interface Prepared extends Plugin {
  /** Bytes of the module with fuel metering. */
  readonly ready: Uint8Array;
  /** Sources and sinks can run it. */
  readonly isProgram: boolean;
}

/** Makes a module ready without running any of it. `beside` is the manifest of its archive, where it has one. */
export function prepare(bytes: Uint8Array, beside?: string, limits: ModuleLimits = defaultLimits): Prepared {
  try {
    const { bytes: ready } = runPasses('install', unpassed(bytes as Uint8Array<ArrayBuffer>, { limits }));
    const shape = inspect(bytes, limits);
    checkImports(shape);
    return { ready, isProgram: isProgram(shape), ...pluginOf(shape, beside, addressParams(bytes, limits)) };
  } catch (error) {
    throw new HaumeaError('general', `invalid wasm module: ${reasonOf(error)}`, { cause: error });
  }
}
