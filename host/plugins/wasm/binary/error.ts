/** Errors in the bytes of a module: it is invalid, not supported, or larger than allowed. */
import { HaumeaError } from '../../../base/errors.js';

/** A module that is refused; `offset` is the place in the module, bytes, where there is one. */
export class WasmError extends HaumeaError {
  constructor(
    reason: string,
    readonly offset?: number,
  ) {
    super('general', offset === undefined ? reason : `${reason} (at byte ${offset})`);
    this.name = 'WasmError';
  }
}

/** A module that uses a proposal of WebAssembly that is not supported. */
export function unsupported(feature: string, offset: number): WasmError {
  return new WasmError(`the module uses ${feature}, which is not supported`, offset);
}
