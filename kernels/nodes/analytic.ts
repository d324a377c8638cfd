/**
 * Binary description of analytic nodes as assembly/analytic/ reads it; operands are those of the batch that the node
 * reads.
 */
import { AnalyticFn, analyticMaxArgs, analyticSpec, functionSpec, partitionSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { type AnalyticName, NONE, type NodeInput, type Operand, type Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Passes all rows on and leaves what functions that look back give in registers for the nodes below. Rows for which
     * one fails are error rows from there on (within a message: the message fails), and those behind it don't see them.
     */
    analytic: {
      input: NodeInput;
      program: Program | null;
      functions: AnalyticPlan[];
      /** Time after its last row, by the clock, until a partition is dropped, ms; 0: never. */
      ttlMs: number;
    };
  }
}

export interface AnalyticPlan {
  fn: AnalyticName;
  args: Operand[];
  /** Rows to look back for `lag`; number of the host function for `user`. */
  size: number;
  /** Rows with equal printed values have a state of their own. */
  partition: Operand[];
  /** Rows for which it is false leave the state as it is. */
  when?: Operand;
  /** Register of the result. */
  dst: number;
}

export const analytic: NodeKind<'analytic'> = {
  traits: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false, keepsPartitions: true },
  spec: ({ functions, ttlMs }, { operand }) =>
    encodeAnalytic(
      functions.map((fn) => ({
        ...fn,
        args: fn.args.map(operand),
        partition: fn.partition.map(operand),
        ...(fn.when === undefined ? {} : { when: operand(fn.when) }),
      })),
      ttlMs,
    ),
};

/** Functions of equal partitions share their table. */
function encodeAnalytic(functions: readonly AnalyticPlan[], ttlMs: number): Uint8Array {
  const partitions: (readonly Operand[])[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (keys: readonly Operand[]): number => {
    const text = keys.join();
    const known = indexes.get(text);
    if (known !== undefined) return known;
    indexes.set(text, partitions.length);
    return partitions.push(keys) - 1;
  };
  const placed = functions.map((fn) => ({ ...fn, index: indexOf(fn.partition) }));
  const functionsAt = analyticSpec.size + partitions.length * partitionSpec.size;
  const operandsAt = functionsAt + functions.length * functionSpec.size;
  const operands: Operand[] = [];
  const place = (some: readonly Operand[]): number => {
    if (some.length > analyticMaxArgs)
      throw new RangeError(`an analytic function has at most ${analyticMaxArgs} arguments, not ${some.length}`);
    const at = operandsAt + 2 * operands.length;
    operands.push(...some);
    return at;
  };
  const heads = partitions.map((keys) => ({ keys: keys.length, keysAt: place(keys) }));
  const bodies = placed.map(({ fn, dst, index, when, args, size }) => ({
    fn: AnalyticFn[fn],
    dst,
    partition: index,
    when: when ?? NONE,
    args: args.length,
    argsAt: place(args),
    size,
  }));
  const bytes = new Uint8Array((operandsAt + 2 * operands.length + 3) & ~3);
  const view = new DataView(bytes.buffer);
  put(view, 0, analyticSpec, {
    partitions: partitions.length,
    partitionsAt: analyticSpec.size,
    functions: functions.length,
    functionsAt,
    ttl: ttlMs,
  });
  heads.forEach((head, i) => {
    put(view, analyticSpec.size + i * partitionSpec.size, partitionSpec, head);
  });
  bodies.forEach((body, i) => {
    put(view, functionsAt + i * functionSpec.size, functionSpec, body);
  });
  operands.forEach((operand, i) => {
    view.setUint16(operandsAt + 2 * i, operand, true);
  });
  return bytes;
}
