/** State of divided rules. */
import type { RuleDefinition } from '../../model/engine.js';

/** Whether the state of a divided rule outlives its run. */
export function isKept({ options, temp, test }: RuleDefinition): boolean {
  return temp !== true && test === undefined && (options.qos > 0 || options.enableSaveStateBeforeStop);
}
