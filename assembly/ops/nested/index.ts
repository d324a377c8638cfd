export { nestedMember, nestedIndex, nestedSlice } from './access';
export { nestedArrayOf, nestedObjectOf, nestedMerge } from './build';
export { nestedConcat } from './concat';
