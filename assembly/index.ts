// The export list of the kernels, nothing else.
export { bytesInUse } from './mem/alloc';
export { contextInit } from './flow/context';
export { copyValue } from './mem/pool';
