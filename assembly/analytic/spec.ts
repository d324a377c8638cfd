// The description of an analytic node as the host writes it (kernels/nodes/analytic.ts), and the layout of the state of
// each function. The spec is drawn in gen/analytic-layouts.ts.
import {
  AnalyticSpec,
  PartitionSpec,
  FunctionSpec,
  AnalyticFn,
  FUNCTION_SIZE_OF,
  PARTITION_SIZE_OF,
} from '../gen/analytic-layouts';
import { OPERAND_NONE } from '../mem/layout';
import { KEPT_SIZE } from '../partitions/slot';
import { ENTRY_HEAD } from '../partitions/table';

export { AnalyticFn } from '../gen/analytic-layouts';

/**
 * Bytes of the state of lag before its slots: rows kept u32 | place of the oldest u32. The first slot has the default,
 * then comes the ring.
 */
export const LAG_HEAD: u32 = 8;
/** Bytes of the state of an accumulation: value 8 | count u64 | flags u32 | 0 u32. */
export const ACC_SIZE: u32 = 24;
/** Bytes of the state of acc_collect: a pool, a list and an index. */
const COLLECT_SIZE: u32 = 56;
/** Bytes of the state of row_number: rows u32 | message u32. */
const NUMBER_SIZE: u32 = 8;

// @ts-ignore: decorator
@inline export function partitionAt(spec: AnalyticSpec, i: u32): PartitionSpec {
  return changetype<PartitionSpec>(changetype<usize>(spec) + spec.partitionsAt + i * PARTITION_SIZE_OF);
}

// @ts-ignore: decorator
@inline export function functionAt(spec: AnalyticSpec, i: u32): FunctionSpec {
  return changetype<FunctionSpec>(changetype<usize>(spec) + spec.functionsAt + i * FUNCTION_SIZE_OF);
}

/** Operand of argument `i`. */
// @ts-ignore: decorator
@inline export function argOperand(spec: AnalyticSpec, fn: FunctionSpec, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + fn.argsAt + ((<usize>i) << 1));
}

/** Number of slots in the state of a function. */
export function slotCount(fn: FunctionSpec): u32 {
  switch (fn.fn) {
    case AnalyticFn.LAG:
      return 1 + fn.size;
    case AnalyticFn.HAD_CHANGED:
      return fn.args - 1;
    case AnalyticFn.ACC_MAX_BY:
    case AnalyticFn.ACC_MIN_BY:
      return 2;
    case AnalyticFn.USER:
      return fn.when == OPERAND_NONE ? 1 : 2;
    case AnalyticFn.LATEST:
    case AnalyticFn.CHANGED_COL:
    case AnalyticFn.CHANGED_ITEM:
    case AnalyticFn.ROW_CHANGED:
    case AnalyticFn.CHANGED_COLUMNS:
    case AnalyticFn.INC_COLLECT:
    case AnalyticFn.INC_MERGE_AGG:
    case AnalyticFn.ACC_MAP_AGG:
      return 1;
    default:
      return 0;
  }
}

/** True for a function whose state is a list with a pool of its own (functions/collect.ts). */
// @ts-ignore: decorator
@inline export function keepsList(fn: FunctionSpec): bool {
  return isList(fn.fn);
}

export function isList(number: u32): bool {
  return number == AnalyticFn.ACC_COLLECT || number == AnalyticFn.ACC_DISTINCT_COLLECT;
}

/** Bytes of a function's state before its slots. */
// @ts-ignore: decorator
@inline export function headSize(fn: FunctionSpec): u32 {
  return headSizeOf(fn.fn);
}

export function headSizeOf(number: u32): u32 {
  switch (number) {
    case AnalyticFn.LAG:
      return LAG_HEAD;
    case AnalyticFn.ACC_SUM:
    case AnalyticFn.ACC_COUNT:
    case AnalyticFn.ACC_MIN:
    case AnalyticFn.ACC_MAX:
    case AnalyticFn.ACC_AVG:
    case AnalyticFn.INC_COLLECT:
      return ACC_SIZE;
    case AnalyticFn.ACC_COLLECT:
    case AnalyticFn.ACC_DISTINCT_COLLECT:
      return COLLECT_SIZE;
    case AnalyticFn.ROW_NUMBER:
      return NUMBER_SIZE;
    default:
      return 0;
  }
}

/** Lays out the entries of each partition. */
export function specPrepare(spec: AnalyticSpec): void {
  const partitions = spec.partitions;
  for (let i: u32 = 0; i < partitions; i++) partitionAt(spec, i).entrySize = ENTRY_HEAD;
  const functions = spec.functions;
  for (let i: u32 = 0; i < functions; i++) {
    const fn = functionAt(spec, i);
    const partition = partitionAt(spec, fn.partition);
    const at = partition.entrySize;
    fn.state = at;
    partition.entrySize = at + headSize(fn) + slotCount(fn) * KEPT_SIZE;
  }
}
