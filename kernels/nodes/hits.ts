import { hitsSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import { NONE, type NodeInput, type Operand, type Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Counts the rows, below a window the messages, that get past the condition, which may depend on that count; none:
     * all do. Registers `count` and `time`: how many did before, and the time (`when`; NONE: the clock) of the newest,
     * epoch ms as I64.
     */
    hits: {
      input: NodeInput;
      program: Program | null;
      condition: Operand;
      count: number;
      time: number;
      when: Operand;
      /** Register for the result of the condition in each row, so that all rows pass; null: the node filters. */
      judged: number | null;
    };
  }
}

export const hits: NodeKind<'hits'> = {
  traits: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false },
  spec: ({ condition, count, time, when, judged }, { operand }) =>
    block(hitsSpec, { condition: operand(condition), count, time, when: operand(when), judged: judged ?? NONE }),
};
