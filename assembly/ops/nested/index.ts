export { nestedMember, nestedIndex, nestedSlice } from './access';
export { nestedArrayOf, nestedObjectOf, nestedMerge, nestedSpread } from './build';
export { nestedConcat } from './concat';
export { nestedSelect } from './select';
