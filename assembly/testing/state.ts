// Writer and reader of saved state alone: values of a test's memory through a sequence of slices and back.
import { Pool, poolFree, poolInit } from '../mem/pool';

export { alloc, bytesInUse, setMemoryLimit } from '../mem/alloc';
export {
  partBegin,
  partEnd,
  saveBegin,
  saveEnd,
  writeBytes,
  writeF64,
  writeI64,
  writeU32,
  writeU64,
  writeU8,
  writeValue,
} from '../state/writer';
export {
  loadBegin,
  loadEnd,
  loadOutcome,
  partEnds,
  partNext,
  partOwner,
  partsPassed,
  readBytes,
  readF64,
  readI64,
  readU32,
  readU64,
  readU8,
  readValue,
  valueRead,
} from '../state/reader';

/** Where values are read to. */
export const pool: Pool = changetype<Pool>(memory.data(32, 16));

export function poolBegin(): void {
  poolInit(pool, 128, 0);
}

export function poolEnd(): void {
  poolFree(pool);
}
