/** `wasm_run('plugin.function', …)`: a call of the function, of which the plugin is said besides. */

import type { FindBrought } from '../../plugins/define.js';
import type { Expr } from '../../sql/ast.js';
import { functionErrors } from '../errors/function.js';

type Call = Extract<Expr, { kind: 'call' }>;

const ownerPrefix = 'wasm plugin ';

export function calledByWasmRun(call: Call, brought: FindBrought | undefined): Call {
  const [target, ...args] = call.args;
  if (target?.kind !== 'string') {
    const form = "'plugin.function'";
    throw functionErrors.wasmName(form, call.span);
  }
  const dot = target.value.lastIndexOf('.');
  const [plugin, name] = [dot < 0 ? undefined : target.value.slice(0, dot), target.value.slice(dot + 1)];
  const owner = brought?.(name)?.owner;
  if (owner === undefined || !owner.startsWith(ownerPrefix)) {
    throw functionErrors.wasmUnknown(name, target.span);
  }
  if (plugin !== undefined && owner !== ownerPrefix + plugin) {
    throw functionErrors.wasmOther(plugin, name, owner, target.span);
  }
  return { ...call, name, args };
}
