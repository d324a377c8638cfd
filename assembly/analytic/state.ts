// Place of the tables of an analytic node in its state.
import { TABLE_SIZE } from '../partitions/table';
import { PartitionTable } from '../partitions/table-slots';

/** Bytes of the state before its tables. */
export const STATE_TABLES: u32 = 24;

// @ts-ignore: decorator
@inline export function tableAt(state: usize, i: u32): PartitionTable {
  return changetype<PartitionTable>(state + STATE_TABLES + i * TABLE_SIZE);
}
