import { hitsSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import { NONE } from '../plan/ir.js';
import type { NodeKind } from './node.js';

export const hits: NodeKind<'hits'> = {
  spec: ({ condition, count, time, when, judged }, { operand }) =>
    block(hitsSpec, { condition: operand(condition), count, time, when: operand(when), judged: judged ?? NONE }),
};
