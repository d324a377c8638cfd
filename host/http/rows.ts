/** The rows of an answer in JSON. */
import { type Dict, isDict, readJson } from '../template/value.js';

/** An object is a row, a list has several; nothing of what is neither. */
export function rowsIn(answer: Buffer): Dict[] {
  try {
    const value = readJson(answer.toString());
    return (Array.isArray(value) ? value : [value]).filter(isDict);
  } catch {
    return [];
  }
}
