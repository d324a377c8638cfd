/** Lists of IN, which may have more values than one operation of the kernel takes. */
import { opsMaxArgs } from '../../../kernels/gen/layouts.js';
import type { Value, Values } from '../values/value.js';

/** Whether the operand is one of the values, or none of them; of longer lists piece by piece. */
export function inList(values: Values, operand: Value, list: readonly Value[], isNegated: boolean): Value {
  let found: Value | undefined;
  for (let at = 0; at === 0 || at < list.length; at += opsMaxArgs) {
    const piece = list.slice(at, at + opsMaxArgs);
    const one = values.op(isNegated ? 'compare.notIn' : 'compare.in', [operand], piece);
    found = found === undefined ? one : values.op(isNegated ? 'logic.and' : 'logic.or', [found, one]);
  }
  return found as Value;
}
