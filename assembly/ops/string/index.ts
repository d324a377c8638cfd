export {
  stringLower,
  stringLpad,
  stringLtrim,
  stringReverse,
  stringRpad,
  stringRtrim,
  stringTrim,
  stringUpper,
} from './letters';
export {
  stringConcat,
  stringEndsWith,
  stringIndexOf,
  stringLength,
  stringNumbytes,
  stringSplitValue,
  stringStartsWith,
  stringSubstring,
} from './parts';
export { stringReplace } from './replace';
