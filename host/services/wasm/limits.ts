/** Limits for calls of WebAssembly plugins. */
import type { Config } from '../../base/config/config.js';
import type { CallLimits } from '../../plugins/define.js';

export type WasmConfig = Config['plugin']['wasm'];

/** Limits of one plugin; those that are not given are those of the configuration. */
export interface OwnLimits {
  readonly maxMemoryBytes?: number;
  readonly callFuel?: number;
  readonly batchFuel?: number;
}

/** Limits for calls of a plugin. The configuration may have become stricter since the plugin was installed. */
export function callLimitsOf(own: OwnLimits, config: WasmConfig): CallLimits {
  const least = (name: 'callFuel' | 'batchFuel') => BigInt(Math.min(own[name] ?? config[name], config[name]));
  const { callTimeout: callMs, batchTimeout: batchMs } = config;
  return { callFuel: least('callFuel'), batchFuel: least('batchFuel'), callMs, batchMs };
}
