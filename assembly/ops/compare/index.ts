export { compareEq, compareNe, compareLt, compareLe, compareGt, compareGe } from './order';
export { compareBetween, compareNotBetween, compareIn, compareNotIn, compareInArray, compareNotInArray } from './range';
export { compareLike, compareNotLike } from './like';
