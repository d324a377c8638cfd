/** The rows and members of an answer in JSON. */
import { type Dict, isDict, readJson, type Value } from '../template/value.js';

/** The rows of an answer: an object is one row, the objects of a list are several; other answers have none. */
export function rowsIn(answer: Buffer): Dict[] {
  try {
    const value = readJson(answer.toString());
    return (Array.isArray(value) ? value : [value]).filter(isDict);
  } catch {
    return [];
  }
}

/** The text or number at the path of members; empty where there is none. */
export function textAt(answer: Buffer, path: string): string {
  try {
    let value: Value | undefined = readJson(answer.toString());
    for (const name of path.split('.')) {
      value = value !== undefined && isDict(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }
    return ['string', 'number', 'bigint'].includes(typeof value) ? String(value) : '';
  } catch {
    return '';
  }
}
