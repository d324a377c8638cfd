/** The rows of an answer in JSON. */
import { type Dict, isDict, readJson } from '../template/value.js';

/** The rows of an answer: an object is one row, the objects of a list are several; other answers have none. */
export function rowsIn(answer: Buffer): Dict[] {
  try {
    const value = readJson(answer.toString());
    return (Array.isArray(value) ? value : [value]).filter(isDict);
  } catch {
    return [];
  }
}
